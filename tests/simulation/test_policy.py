"""Learned controllers."""

import numpy as np
import pytest

import engine
from engine.simulation.policy import ACTIVATIONS
from tests.simulation.test_written_controllers import MODEL

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

    def __init__(self, *children):
        self.inside = children

    def children(self):
        return iter(self.inside)

    def modules(self):
        return iter([self, *self.inside])

    def state_dict(self):
        return {}


class Tensor(np.ndarray):
    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)


class Linear(Module):
    def __init__(self, W, b):
        super().__init__()
        self.weight, self.bias = np.asarray(W).view(Tensor), None if b is None else np.asarray(b).view(Tensor)


class Tanh(Module):
    pass


class Dropout(Module):
    pass


class Conv2d(Module):
    pass


def test_networks_of_torch():
    net = Module(Linear(*LAYERS[0]), Tanh(), Dropout(), Linear(*LAYERS[1]), Tanh(), Linear(*LAYERS[2]))
    x = RNG.normal(size=6)
    np.testing.assert_array_equal(engine.policy(net)(x), engine.policy(LAYERS)(x))
    with pytest.raises(engine.EngineError, match="policy: a layer of kind Conv2d; expected Linear layers"):
        engine.policy(Module(Linear(*LAYERS[0]), Conv2d()))
    with pytest.raises(engine.EngineError, match="a Module without Linear layers"):
        engine.policy(Module())


def test_a_network_of_torch_itself():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3, bias=False), torch.nn.Tanh()).double()
    x = RNG.normal(size=6)
    np.testing.assert_allclose(engine.policy(net)(x), net(torch.from_numpy(x)).detach().numpy(), rtol=0, atol=1e-14)


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
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_refused(given, message):
    with pytest.raises(engine.EngineError, match=message):
        engine.policy(**given)
    if given["network"] is LAYERS:
        return
    with pytest.raises(engine.EngineError, match="a policy got an input of shape"):
        engine.policy(LAYERS)(np.ones(4))
