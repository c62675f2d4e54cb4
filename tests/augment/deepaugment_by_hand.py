"""DeepAugment for one image, written out from the words of its authors' code: plain loops, nothing shared with ours but
the draws."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from weatherproof.augment.deepaugment.draw import Draw
from weatherproof.networks.corruption import CAE, EDSR

State = dict[str, np.ndarray]


def state_of(network: torch.nn.Module) -> State:
    return {name: value.detach().double().numpy().copy() for name, value in network.named_parameters()}


def gelu(value: float) -> float:
    return value * (1 + math.erf(value / math.sqrt(2))) / 2


def every_gelu(array: np.ndarray) -> np.ndarray:
    return np.vectorize(gelu)(array)


def convolve(batch: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """(N, I, 3, 3) with (O, I, 3, 3), padded by one zero: correlation, as networks have it."""
    result = np.zeros((len(batch), len(kernel), 3, 3))
    for y in range(3):
        for x in range(3):
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    if 0 <= y + dy < 3 and 0 <= x + dx < 3:
                        result[:, :, y, x] += batch[:, :, y + dy, x + dx] @ kernel[:, :, dy + 1, dx + 1].T
    return result


def quarter_turns(array: np.ndarray, times: int, axes: tuple[int, int]) -> np.ndarray:
    """A turn takes the value at (i, j) to (n - 1 - j, i)."""
    for _ in range(times):
        turned, moved = np.empty_like(array), np.moveaxis(array, axes, (0, 1))
        target = np.moveaxis(turned, axes, (0, 1))
        count = moved.shape[0]
        for i in range(count):
            for j in range(count):
                target[count - 1 - j, i] = moved[i, j]
        array = turned
    return array


def only_largest(array: np.ndarray) -> np.ndarray:
    result = np.zeros_like(array)
    for o in range(array.shape[0]):
        for i in range(array.shape[1]):
            place = np.unravel_index(np.argmax(array[o, i]), array.shape[2:])
            result[o, i][place] = array[o, i][place]
    return result


def edsr_operation(option: int, state: State, draw: Draw, blocks: int = 16) -> None:
    """Options 0 to 16; block indices of 16 blocks, scaled to `blocks`."""
    thirds, middle, fourths = (0, 3, 6, 9), (1, 4, 7), (1, 5, 9)

    def block(number: int) -> str:
        return f"body.{number * blocks // 16}.body."

    if option == 0:
        name = block(draw.one_of(thirds))
        for key in ("0.weight", "0.bias", "2.weight", "2.bias"):
            state[name + key] = state[name + key][::-1].copy()
    elif option == 1:
        name = block(draw.one_of(middle))
        state[name + "0.weight"] *= -1
        state[name + "0.bias"] *= -1
    elif option == 2:
        name = block(draw.one_of(thirds))
        state[name + "0.weight"] *= 0
        state[name + "0.bias"] *= 0
    elif option == 3:
        name = block(draw.one_of(thirds))
        for key in ("0.weight", "2.weight"):
            state[name + key] = -every_gelu(state[name + key])
    elif option in (4, 5):
        key = block(draw.one_of(thirds)) + "0.weight"
        taps = [[0, 1, 0], [1, -4, 1], [0, 1, 0]] if option == 4 else [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]]
        for y in range(3):
            for x in range(3):
                state[key][:, :, y, x] *= taps[y][x]
    elif option == 6:
        key = block(draw.one_of(thirds)) + "2.weight"
        u = draw.number()
        state[key] *= 1 + 4 * u * draw.uniform(state[key].shape).double().numpy()
    elif option == 7:
        name = block(draw.one_of(thirds))
        state[name + "0.weight"] = state[name + "0.weight"][:, :, :, [2, 1, 0]]
        state[name + "2.weight"] *= -1
    elif option == 8:
        key = block(draw.one_of(fourths)) + "0.weight"
        count = len(state[key])
        rows, columns, signs = draw.several(3, count), draw.several(3, count), draw.signs((count,)).tolist()
        z = np.zeros(state[key].shape)
        for j in range(count):
            for o in range(count):
                z[o, j, rows[j], columns[j]] = signs[j]
        state[key] = convolve(state[key], z)
    elif option == 9:
        key = block(draw.one_of(thirds)) + "0.weight"
        u = draw.number()
        state[key] = convolve(state[key], (2 * u * draw.uniform(state[key].shape).double().numpy() - 1) / 6)
    elif option == 10:
        key = block(draw.one_of(fourths)) + "2.weight"
        count = len(state[key])
        z = draw.dirichlet(0.1, (count, count), 9).double().numpy().reshape(count, count, 3, 3)
        state[key] = convolve(state[key], z)
    elif option == 11:
        key = block(draw.below(15)) + "2.weight"
        state[key] += draw.uniform(state[key].shape).double().numpy() - 0.5
    elif option == 12:
        for _ in range(5):
            key = block(draw.below(15)) + str(draw.one_of((0, 2))) + ".weight"
            times = 1 + draw.below(3)
            state[key] = quarter_turns(state[key], times, draw.one_of(((2, 3), (0, 1))))
    elif option in (13, 14):
        for _ in range(5):
            key = block(draw.below(15)) + "0.weight"
            heads = draw.uniform(state[key].shape).numpy() < 0.5
            for place in zip(*np.nonzero(heads if option == 13 else ~heads), strict=True):
                state[key][place] = -state[key][place] if option == 13 else 0
    elif option == 15:
        for _ in range(5):
            key = block(draw.below(15)) + "0.weight"
            for row in set(draw.several(len(state[key]), len(state[key]) // 2)):
                state[key][row] *= -1
    elif option == 16:
        for _ in range(5):
            key = block(draw.below(15)) + str(draw.one_of((0, 2))) + ".weight"
            state[key] = only_largest(state[key])


def edsr_forward(network: EDSR, state: State, image: Tensor, draw: Draw) -> tuple[Tensor, tuple[int, int]]:
    """One image (3, H, W) through 16 blocks with those weights: the image, and which distortions were drawn."""
    w = {name: torch.from_numpy(value.copy()) for name, value in state.items()}

    def conv(x: Tensor, key: str) -> Tensor:
        return functional.conv2d(x, w[f"{key}.weight"], w[f"{key}.bias"], padding=1)

    def module(number: int, x: Tensor) -> Tensor:
        if number == 16:
            return conv(x, "body.16")
        return x + conv(functional.relu(conv(x, f"body.{number}.body.0")), f"body.{number}.body.2")

    mean = network.mean.double()
    x = conv((image.double() - mean)[None] * 255, "head.0")
    before = draw.below(4)
    if before == 0:
        features = x.shape[1]
        for _ in range(max(1, round(5 * features / 64))):
            first, second = draw.several(features, 2)
            x[0, first] = x[0, second].clone()
    elif before in (1, 2):
        drawn = draw.uniform(x.shape[1:])
        for place in (drawn < (0.95 if before == 1 else 0.025)).nonzero().tolist() if before == 2 else []:
            x[(0, *place)] = -x[(0, *place)]
        if before == 1:
            for place in (drawn >= 0.95).nonzero().tolist():
                x[(0, *place)] = 0
    within = draw.below(5)
    if within == 3:
        skipped = {2 + number for number in draw.several(15, 3)}
        for number in range(17):
            if number not in skipped:
                result = module(number, x)
    else:
        result = x
        for number in range(17):
            if number == 5 and within == 0:
                result = -result
            if number == 5 and within == 1:
                result = functional.relu(result) if draw.below(3) == 1 else functional.gelu(result)
            if number == 5 and within == 2:
                axis = 2 if draw.below(3) == 1 else 3
                result = result.flip((1, axis))
            result = module(number, result)
    large = conv(functional.pixel_shuffle(conv(result + x, "tail.0.0"), 2), "tail.1") / 255 + mean
    return functional.avg_pool2d(large, 2).clamp(0, 1)[0], (before, within)


LAYERS = {
    8: "e_conv_3.0", 9: "d_up_conv_1.0", 10: "d_up_conv_1.3", 11: "d_block_1.1", 12: "d_block_1.4",
    13: "d_block_2.1", 14: "d_block_2.4", 15: "d_block_3.1",
}  # fmt: skip


def cae_operation(option: int, state: State, draw: Draw, share: float = 1.0) -> None:
    """Options 0 to 7; `share` is the network's width by the published one's."""
    layers = {0: range(11, 16), 3: range(10, 14)}.get(option, range(8, 14))
    name = LAYERS[draw.one_of(layers)]
    weight, bias = f"{name}.weight", f"{name}.bias"
    if option == 0:
        state[weight], state[bias] = state[weight][::-1].copy(), state[bias][::-1].copy()
    elif option in (1, 2, 3):
        count = max(1, round({1: 12, 2: 25, 3: 25}[option] * share))
        for row in draw.several(len(state[weight]), count):
            for key in (weight, bias):
                if option == 1:
                    state[key][row] = -state[key][row]
                elif option == 2:
                    state[key][row] = 0 * state[key][row]
                else:
                    state[key][row] = -every_gelu(state[key][row])
    elif option == 4:
        other = LAYERS[draw.one_of(layers)] + ".weight"
        for key in (weight, other):
            u = draw.number()
            state[key] *= 1 + 8 * u * draw.uniform(state[key].shape).double().numpy()
    elif option == 5:
        masked = draw.happens(0.5)
        heads = draw.uniform(state[weight].shape).numpy() < 0.5
        state[weight] *= heads if masked else 1 - 2.0 * heads
    elif option == 6:
        state[weight] = quarter_turns(state[weight], 1 + draw.below(3), (2, 3))
    elif option == 7:
        count = len(state[weight])
        for row in set(draw.several(count, max(1, count // 5))):
            state[weight][row] *= -1


def cae_code(z: np.ndarray, draw: Draw) -> tuple[np.ndarray, int]:
    """The code (C, H, W) in [-1, 1] as what is decoded, and which distortion was drawn."""
    channels, height, width = z.shape
    z, option = z.copy(), draw.below(9)
    if option in (1, 2):
        drawn = draw.uniform((height, width)).numpy()
        for y in range(height):
            for x in range(width):
                if option == 1 and drawn[y, x] >= 0.8:
                    z[:, y, x] = 0
                if option == 2 and drawn[y, x] < 0.1:
                    z[:, y, x] *= -1
    elif option == 3:
        order = draw.permutation(max(1, round(10 * channels / 32)))
        z[: len(order)] = z[order]
    elif option in (4, 5):
        axes = draw.one_of(((0, 1), (0,), (1,)))
        drawn_channels = draw.several(channels, max(1, round(5 * channels / 32))) if option == 4 else range(channels)
        for channel in drawn_channels:
            for axis in axes:
                z[channel] = np.flip(z[channel], axis).copy()
    elif option == 6:
        taps = 0.2 * (draw.uniform((channels, channels, 3, 3)).double().numpy() - 0.5)
        for channel in range(channels):
            taps[channel, channel, 1, 1] += 1
        z = shifted_sums(z, taps)
    elif option in (7, 8):
        taps = np.zeros((channels, channels, 3, 3))
        shift = draw.several(3, 2) if option == 8 else [1, 1]
        for channel in range(channels):
            if option == 8 and draw.happens(0.2):
                shift = draw.several(3, 2)
            taps[channel, channel, shift[0], shift[1]] = 1
            if option == 7 and draw.happens(0.5):
                taps[channel, draw.below(channels), draw.below(3), draw.below(3)] = 1
        z = shifted_sums(z, taps)
    bits = np.where(draw.uniform(z.shape).double().numpy() <= (1 + z) / 2, 1.0, -1.0)
    encoded = (bits + 1) / 2
    if option == 0:
        u = draw.number()
        encoded *= 3 + 4 * u * draw.uniform(z.shape).double().numpy()
    return 2 * encoded - 1, option


def shifted_sums(z: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """A 3x3 convolution with zeros outside."""
    padded = np.pad(z, ((0, 0), (1, 1), (1, 1)))
    result = np.zeros_like(z)
    for y in range(z.shape[1]):
        for x in range(z.shape[2]):
            result[:, y, x] = np.einsum("oiab,iab->o", taps, padded[:, y : y + 3, x : x + 3])
    return result


def cae_forward(network: CAE, state: State, image: Tensor, draw: Draw) -> tuple[Tensor, int]:
    """One image (3, H, W), sides divisible by 4, through the network with those weights; and the distortion drawn."""
    changed = CAE(**sizes_of(network)).double().eval()
    changed.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in state.items()})
    with torch.no_grad():
        code, option = cae_code(changed.encode(image.double()[None])[0].numpy(), draw)
        return changed.decode(torch.from_numpy(code)[None])[0].clamp(0, 1), option


def sizes_of(network: CAE) -> dict[str, int]:
    weights = network.state_dict()
    return {
        "width": len(weights["e_conv_2.1.bias"]), "bits": len(weights["e_conv_3.0.bias"]),
        "stem": len(weights["e_conv_1.1.bias"]), "fine": len(weights["d_up_conv_2.3.bias"]),
        "last": len(weights["d_up_conv_3.0.bias"]),
    }  # fmt: skip
