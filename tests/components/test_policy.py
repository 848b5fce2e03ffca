"""Learned controllers."""

import numpy as np
import pytest

import engine
from engine.components.policy import ACTIVATIONS
from tests.components.test_written_controllers import MODEL

RNG = np.random.default_rng(0)
LAYERS = [(RNG.normal(size=(16, 6)) / 4, RNG.normal(size=16)), (RNG.normal(size=(16, 16)) / 4, RNG.normal(size=16)),
          (RNG.normal(size=(3, 16)) / 4, RNG.normal(size=3))]  # fmt: skip

BY_HAND = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "linear": lambda x: x,
           "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), "silu": lambda x: x / (1 + np.exp(-x)),
           "softplus": lambda x: np.logaddexp(x, 0)}  # fmt: skip


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_by_hand(activation):
    mean, scale, x, act = RNG.normal(size=6), RNG.uniform(1, 2, 6), RNG.normal(size=(20, 6)), BY_HAND[activation]
    policy = engine.policy(LAYERS, activation=activation, output="tanh", mean=mean, scale=scale)
    y = (x - mean) / scale
    for k, (W, b) in enumerate(LAYERS):
        y = (act if k < 2 else np.tanh)(y @ W.T + b)
    np.testing.assert_allclose([policy(row) for row in x], y, rtol=0, atol=1e-13)
    np.testing.assert_allclose(engine.gufunc(policy, "(6)->(3)")(x), y, rtol=0, atol=1e-13)


def test_as_a_controller_and_with_weights_that_are_parameters():
    policy = engine.policy(LAYERS)
    plain, compiled = (engine.Simulator(MODEL, controller=lambda t, q, v: policy(np.concatenate([q, v])), compiled=c).run(
        [0.1, 0.2, 0.3], [0.0, 0.0, 0.0], duration=0.05) for c in (False, True))  # fmt: skip
    np.testing.assert_allclose(plain.q, compiled.q, rtol=0, atol=1e-13)

    def weighted(t, q, v, W):
        return engine.policy([(W.reshape(3, 6), np.zeros(3))])(np.concatenate([q, v]))

    simulator = engine.Simulator(MODEL, controller=weighted, parameters={"W": np.zeros(18)})
    scattered = RNG.normal(size=(4, 18))
    runs = simulator.run([0.1, 0.2, 0.3], [0.0, 0.0, 0.0], duration=0.05, parameters={"W": scattered})
    one = simulator.run([0.1, 0.2, 0.3], [0.0, 0.0, 0.0], duration=0.05, parameters={"W": scattered[2]})
    np.testing.assert_array_equal(runs.q[2], one.q)
    assert np.abs(runs.q[0, -1] - runs.q[1, -1]).max() > 1e-6


class Module:
    """What of torch's modules is looked at."""

    __module__ = "torch.nn.modules.of_tests"
    _forward_hooks = _forward_pre_hooks = {}

    def __init__(self, *children, **own):
        self.inside = children
        vars(self).update(own)

    def children(self):
        return iter(self.inside)

    def state_dict(self):
        return {}


class Tensor(np.ndarray):
    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)


def kind(name, base=Module):
    return type(name, (base,), {"__module__": "torch.nn.modules.of_tests"})


class Linear(Module):
    __module__ = Module.__module__

    def __init__(self, W, b):
        super().__init__(weight=np.asarray(W).view(Tensor), bias=None if b is None else np.asarray(b).view(Tensor))


Sequential, Tanh, ReLU, Dropout, Conv2d, ELU, Softplus = map(kind, ("Sequential", "Tanh", "ReLU", "Dropout", "Conv2d", "ELU", "Softplus"))


def test_networks_of_torch():
    net = Sequential(Linear(*LAYERS[0]), Tanh(), Dropout(), Linear(*LAYERS[1]), Tanh(), Linear(*LAYERS[2]))
    x = RNG.normal(size=6)
    np.testing.assert_array_equal(engine.policy(net)(x), engine.policy(LAYERS)(x))
    with pytest.raises(engine.EngineError, match="policy: a layer of kind Conv2d; expected Linear layers"):
        engine.policy(Sequential(Linear(*LAYERS[0]), Conv2d()))
    with pytest.raises(engine.EngineError, match="a Sequential without Linear layers"):
        engine.policy(Sequential())


def test_networks_of_torch_are_nested_and_have_scales():
    (W, b), x = LAYERS[0], RNG.normal(size=6)
    y = W @ x + b
    nested = Sequential(Sequential(Linear(W, b)), Sequential(Tanh(), ReLU()))
    np.testing.assert_allclose(engine.policy(nested)(x), np.maximum(np.tanh(y), 0.0), rtol=1e-14)
    np.testing.assert_allclose(engine.policy(Sequential(Linear(W, b), Softplus(beta=2)))(x), np.log1p(np.exp(2 * y)) / 2, rtol=1e-13)
    rows = RNG.normal(size=(2, 3, 6))
    np.testing.assert_array_equal(engine.policy(nested)(rows)[1, 2], engine.policy(nested)(rows[1, 2]))


def test_networks_that_do_something_else_with_their_layers_are_refused():
    own = type("Net", (Module,), {"__module__": "users"})
    hooked = Sequential(Linear(*LAYERS[0]), _forward_hooks={1: print})
    for net in (own(Linear(*LAYERS[0])), Sequential(own(Linear(*LAYERS[0]))), kind("Mine", Sequential)(Linear(*LAYERS[0])), hooked):
        if type(net).__name__ == "Mine":
            type(net).__module__ = "users"
        with pytest.raises(engine.EngineError, match="does with its layers is its own; expected a torch"):
            engine.policy(net)
    with pytest.raises(engine.EngineError, match="expected alpha = 1"):
        engine.policy(Sequential(Linear(*LAYERS[0]), ELU(alpha=0.5)))


def test_a_network_of_torch_itself():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3, bias=False), torch.nn.Tanh()).double()
    x = RNG.normal(size=6)
    np.testing.assert_allclose(engine.policy(net)(x), net(torch.from_numpy(x)).detach().numpy(), rtol=0, atol=1e-14)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)

        def forward(self, x):
            return torch.tanh(self.b(torch.relu(self.a(x))))

    with pytest.raises(engine.EngineError, match="what a Net does with its layers is its own"):
        engine.policy(Net())


@pytest.mark.parametrize(("given", "message"), [
    ({"network": []}, "policy got list; expected a list of layers"),
    ({"network": np.ones((2, 2))}, "policy got ndarray; expected a list of layers"),
    ({"network": [(np.ones((2, 2)), np.ones(3))]}, r"W of layer 0 has shape \(2, 2\) and b \(3,\); expected \(3, 2\)"),
    ({"network": [LAYERS[0], LAYERS[2], LAYERS[2]]}, r"W of layer 2 has shape \(3, 16\) and b \(3,\); expected \(3, 3\)"),
    ({"network": [(np.full((2, 2), np.nan), np.ones(2))]}, "W of layer 0 is not finite"),
    ({"network": [(np.ones(2), np.ones(2))]}, r"W of layer 0 has shape \(2,\); expected \(n, m\)"),
    ({"network": LAYERS, "activation": "tanhh"}, "no activation 'tanhh'.*tanh"),
    ({"network": LAYERS, "scale": np.zeros(6)}, "no scale of 0"),
    ({"network": LAYERS, "mean": np.zeros(5)}, r"mean and scale have shapes \(5,\) and \(6,\)"),
])  # fmt: skip
def test_what_is_refused(given, message):
    with pytest.raises(engine.EngineError, match=message):
        engine.policy(**given)
    if given["network"] is LAYERS:
        return
    with pytest.raises(engine.EngineError, match="a policy got an input of shape"):
        engine.policy(LAYERS)(np.ones(4))
