"""The voice activity network over a stream, as silero's own wrapper (utils_vad.py, OnnxWrapper) drives it.

Each window is 512 new samples behind the last 64 of the window before (zeros at first), and the state that
one window gives is what the next one takes. What a test compares, with i from 0 and zeros as state[-1]:

    output[i], state[i] = network(input[i], state[i - 1], sr)      sr = 16000, int64, rank 0
    np.abs(got - reference) <= TOLERANCE * np.maximum(1, np.abs(reference)), for both
"""

import numpy as np
import onnxruntime

RECORDING_RATE, RATE = 22050, 16000
WINDOWS, SAMPLES, CONTEXT = 60, 512, 64
# samples of the recording on either side of a new one, and the Kaiser window's shape
REACH, KAISER_BETA = 32, 8.0
# the same engine on another processor; between windows the state changes by far more
TOLERANCE = 1e-4


def generate(deps, folder):
    recording = np.fromfile(deps / "audio/recording.f32", "<f4")
    windows = split(resample(recording, WINDOWS * SAMPLES))
    network = Network(deps / "models/silero_vad.onnx")
    outputs, states = stream(network, windows)
    forgetful = np.stack([network(window, network.zeros)[0] for window in windows])
    # a driver that loses the state must show
    if np.abs(outputs - forgetful).max() < 100 * TOLERANCE:
        raise SystemExit("silero_vad: the state does not matter on this recording")
    folder.save("silero_vad.input", windows)
    folder.save("silero_vad.onnxruntime.output", outputs)
    folder.save("silero_vad.onnxruntime.state", states)


def resample(recording, count):
    """The first `count` samples at 16 kHz, by a windowed sinc.

    No low-pass: the recording was made at 11025 Hz, so that it has nothing above half of 16 kHz.
    """
    times = np.arange(count) * RECORDING_RATE / RATE
    # a row per new sample: the places in the recording around it
    places = np.floor(times).astype(int)[:, None] + np.arange(1 - REACH, 1 + REACH)
    distance = times[:, None] - places
    kernel = np.sinc(distance) * np.i0(KAISER_BETA * np.sqrt(np.maximum(0, 1 - (distance / REACH) ** 2)))
    padded = np.pad(recording.astype(np.float64), REACH)
    return (padded[places + REACH] * kernel).sum(axis=1) / np.i0(KAISER_BETA)


def split(samples):
    """[WINDOWS, 1, CONTEXT + SAMPLES], each beginning with the end of the one before."""
    padded = np.concatenate([np.zeros(CONTEXT), samples]).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(padded, CONTEXT + SAMPLES)[::SAMPLES]
    return windows[:, None, :]


class Network:
    zeros = np.zeros((2, 1, 128), np.float32)

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.network = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def __call__(self, window, state):
        """The probability, [1, 1], and the next state, [2, 1, 128]."""
        return self.network.run(["output", "stateN"],
                                {"input": window, "state": state, "sr": np.array(RATE, np.int64)})


def stream(network, windows):
    outputs, states = [], [network.zeros]
    for window in windows:
        output, state = network(window, states[-1])
        outputs.append(output)
        states.append(state)
    return np.stack(outputs), np.stack(states[1:])
