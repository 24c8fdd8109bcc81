"""convert_recording.py DEPS: the demo's music as DEPS/audio/recording.f32.

Raw little-endian float32, mono, 22050 Hz, which is what the note transcription network takes.
"""

import pathlib
import sys
import wave

import numpy as np

SOURCE = "packages/pygame_ce/pygame/examples/data/house_lo.wav"
RATE = 22050
# Taps on either side of a new sample, in samples of the source, and the Kaiser window's shape: about
# 80 dB of attenuation beyond the source's own band.
REACH = 32
KAISER_BETA = 8.0


def main(deps):
    samples, rate = read(deps / SOURCE)
    if RATE % rate != 0:
        raise SystemExit(f"{SOURCE}: {rate} Hz does not divide {RATE} Hz")
    music = interpolate(samples, RATE // rate).astype("<f4")
    loudness = float(np.sqrt(np.mean(np.square(music))))
    if loudness < 0.01 or not np.isfinite(music).all():
        raise SystemExit(f"{SOURCE}: silence or worse, RMS {loudness}")
    folder = deps / "audio"
    folder.mkdir(exist_ok=True)
    music.tofile(folder / "recording.f32")
    (folder / "INDEX.txt").write_text(
        f"recording.f32: float32 little-endian, mono, {RATE} Hz, {music.size} samples, "
        f"{music.size / RATE:.3f} s, RMS {loudness:.4f}, peak {np.abs(music).max():.4f}\n")


def read(path):
    """Samples in -1..1 and the rate."""
    with wave.open(str(path)) as recording:
        if (recording.getnchannels(), recording.getsampwidth()) != (1, 1):
            raise SystemExit(f"{path}: expected 8-bit mono, found {recording.getparams()}")
        raw = recording.readframes(recording.getnframes())
        # 8-bit samples of a WAVE file are unsigned
        samples = (np.frombuffer(raw, np.uint8).astype(np.float64) - 128) / 128
        return samples - samples.mean(), recording.getframerate()


def interpolate(samples, factor):
    """Band-limited interpolation: zeros between the samples, then a windowed sinc as low-pass."""
    stuffed = np.zeros(samples.size * factor)
    stuffed[::factor] = samples
    time = np.arange(-REACH * factor, REACH * factor + 1) / factor
    kernel = np.sinc(time) * np.kaiser(time.size, KAISER_BETA)
    return np.convolve(stuffed, kernel, mode="same")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
