"""Neural networks of dense layers as functions that compile: learned controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError, nearest

Array = np.ndarray


def sigmoid(x: Any) -> Any:
    """1/(1 + e⁻ˣ), by tanh."""
    return 0.5 + 0.5 * ops.tanh(0.5 * x)


def elu(x: Any) -> Any:
    """x, or eˣ − 1 below zero."""
    return ops.where(ops.less(0.0, x), x, ops.exp(ops.minimum(x, 0.0)) - 1.0)


#: what follows a layer, by its name
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": ops.tanh, "relu": lambda x: ops.maximum(x, 0.0), "sigmoid": sigmoid, "elu": elu, "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: ops.maximum(x, 0.0) + ops.log(1.0 + ops.exp(-ops.absolute(x))), "linear": lambda x: x,
}  # fmt: skip


def policy(network: Any, activation: str = "tanh", output: str = "linear", mean: Any = None, scale: Any = None) -> Callable[[Any], Any]:
    """Return a network as a function of its input: plain on floats, and a few nodes where it is traced, however many weights it has.

    Parameters
    ----------
    network : layers (W, b), W (n, m) and b (n), the first first; or a ``torch.nn.Sequential`` of ``Linear`` layers and activations, which
        then says what follows each layer itself; a module with a ``forward`` of its own is refused. Weights that are traced, such as
        parameters of a simulation, are taken too
    activation : what follows every layer but the last: tanh, relu, sigmoid, elu, silu, softplus or linear
    output : what follows the last
    mean, scale : the network sees (x − mean)/scale, as it was trained

    Raises
    ------
    EngineError : layers that do not fit each other, weights that are not finite, an activation or a layer that is not known

    >>> net = policy([([[1.0, -1.0]], [0.5]), ([[2.0], [3.0]], [0.0, 0.0])], activation="relu")
    >>> net(np.array([2.0, 1.0]))
    array([3. , 4.5])
    """
    layers = of_torch(network) if hasattr(network, "state_dict") else of_numbers(network, activation, output)
    m = np.shape(layers[0][0])[1]
    shift = np.zeros(m) if mean is None else np.asarray(mean, dtype=float)
    with np.errstate(divide="ignore"):
        per = np.ones(m) if scale is None else 1.0 / np.asarray(scale, dtype=float)
    if shift.shape != (m,) or per.shape != (m,) or not np.isfinite([*shift, *per]).all():
        raise EngineError(f"policy: mean and scale have shapes {shift.shape} and {per.shape}; expected ({m},), finite, and no scale of 0")

    def act(x: Any) -> Any:
        if np.ndim(x) > 1 and ops.graph_of(x) is None:
            return np.array([act(row) for row in np.reshape(x, (-1, np.shape(x)[-1]))]).reshape(*np.shape(x)[:-1], -1)
        if np.shape(x) != (m,):
            raise EngineError(f"a policy got an input of shape {np.shape(x)}; expected ({m},), or on floats (..., {m})")
        y = (x - shift) * per
        for W, b, follows in layers:
            y = follows(ops.dense(W, y, b))
        return y

    return act


def of_numbers(network: Any, activation: str, output: str) -> list[tuple[Any, Any, Callable[[Any], Any]]]:
    """Return layers with what follows them."""
    if not isinstance(network, Sequence) or not network or not all(isinstance(layer, Sequence) and len(layer) == 2 for layer in network):
        raise EngineError(f"policy got {type(network).__name__}; expected a list of layers (W, b), or a torch.nn.Sequential")
    names = [activation] * (len(network) - 1) + [output]
    layers = enumerate(zip(network, names, strict=True))
    return connected([(checked(k, "W", W), checked(k, "b", b), find_activation(name)) for k, ((W, b), name) in layers])


def of_torch(network: Any) -> list[tuple[Any, Any, Callable[[Any], Any]]]:
    """Return the layers of a network of torch's that does one module after another, each as torch itself has it."""
    layers: list[tuple[Any, Any, Callable[[Any], Any]]] = []
    for module in flat(network):
        kind = type(module).__name__
        if kind == "Linear":
            W = module.weight.detach().cpu().numpy().astype(float)
            b = np.zeros(len(W)) if module.bias is None else module.bias.detach().cpu().numpy().astype(float)
            layers.append((checked(len(layers), "W", W), checked(len(layers), "b", b), ACTIVATIONS["linear"]))
        elif layers and kind.lower() in ACTIVATIONS:
            W, b, before = layers[-1]
            layers[-1] = W, b, compose(before, find_activation(kind.lower()), as_is(module))
        elif kind not in ("Dropout", "Identity", "Flatten"):
            raise EngineError(f"policy: a layer of kind {kind}; expected Linear layers, each before one of {', '.join(ACTIVATIONS)}")
    if not layers:
        raise EngineError(f"policy: a {type(network).__name__} without Linear layers")
    return connected(layers)


def flat(network: Any) -> Iterator[Any]:
    """Yield the modules of a Sequential one after another; refuse those that may do something else with them."""
    kind = type(network)
    if not kind.__module__.startswith("torch.nn.modules.") or network._forward_hooks or network._forward_pre_hooks:
        raise EngineError(f"policy: what a {kind.__name__} does with its layers is its own; expected a torch.nn.Sequential, such as "
                          "torch.nn.Sequential(*model.policy.mlp_extractor.policy_net, model.policy.action_net)")  # fmt: skip
    if kind.__name__ != "Sequential":
        yield network
        return
    for module in network.children():
        yield from flat(module)


def as_is(module: Any) -> tuple[float, float]:
    """Return by what an activation's input and its result are multiplied: Softplus(beta) is softplus(beta x)/beta."""
    if getattr(module, "alpha", 1.0) != 1.0:
        raise EngineError(f"policy: {module}; expected alpha = 1")
    beta = float(getattr(module, "beta", 1.0))
    return beta, 1.0 / beta


def compose(first: Callable[[Any], Any], then: Callable[[Any], Any], scales: tuple[float, float]) -> Callable[[Any], Any]:
    """Return one function after another, with what it gets and returns multiplied."""
    return lambda x: scales[1] * then(scales[0] * first(x))


def checked(k: int, name: str, x: Any) -> Array:
    """Return weights as an array; known ones are finite."""
    x = np.asarray(x)
    if ops.graph_of(x) is None and (x.dtype == object or not np.isfinite(x := x.astype(float)).all()):
        raise EngineError(f"policy: {name} of layer {k} is not finite; expected finite numbers")
    if x.ndim != (2 if name == "W" else 1):
        raise EngineError(f"policy: {name} of layer {k} has shape {x.shape}; expected {'(n, m)' if name == 'W' else '(n)'}")
    return x


def connected(layers: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any, Any]]:
    """Refuse layers that do not fit each other."""
    for k, (W, b, _) in enumerate(layers):
        before = len(layers[k - 1][0]) if k else W.shape[1]
        if W.shape != (len(b), before):
            raise EngineError(f"policy: W of layer {k} has shape {W.shape} and b {b.shape}; expected ({len(b)}, {before}), to follow what "
                              f"has {before} results")  # fmt: skip
    return layers


def find_activation(activation: str) -> Callable[[Any], Any]:
    if activation not in ACTIVATIONS:
        raise EngineError(f"policy: no activation '{activation}'{nearest(str(activation), ACTIVATIONS)}; expected {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[activation]
