"""Front ends: from samples to frames, streaming and whole, with the bits of the program.

Every front end has push(samples), flush() and a call for a whole recording; what comes out does not depend on how
the samples went in. Parameters have the names, units and defaults of the nodes (`runnel inspect fbank`), which for
filter banks are those of torchaudio.compliance.kaldi. A wrong name or value is refused with the nearest ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _runnel
from .errors import Error, InvalidArgument


def _value(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_value(each) for each in value)
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) else str(value)


def _settings(parameters: dict[str, Any]) -> str:
    return "".join(f" {name}={_runnel.quote(_value(value))}" for name, value in parameters.items() if value is not None)


def presets() -> list[str]:
    """Names of the presets of Fbank (docs/features.md)."""
    return _runnel.presets()


class FrontEnd:
    """A front end from graph text, e.g. FrontEnd("fbank preset=kaldi num_mel_bins=40 ! cmvn").

    rate: of the samples in Hz; 0: as the first node wants it (sample_frequency), or 16000.
    channels: of the samples.
    values, hop, span: for text that begins with a node for frames (cmvn, deltas, stack, istft): values per frame, and
        samples of `rate` from one frame to the next and under one frame.

    One stream at a time, used by one thread at a time.
    """

    def __init__(self, text: str, rate: int = 0, channels: int = 1, *, values: int = 0, hop: int = 160,
                 span: int = 400) -> None:
        if values > 0:
            rate = rate or 16000
            source = f"samples rate={rate} values={values} hop={hop} span={span}"
        else:
            if channels == 1:
                # What gives samples has no complete text; what is wrong is named when the graph is built.
                try:
                    text, rate = _runnel.resolve_front_end(text, rate)
                except Error:
                    pass
            source = f"samples rate={rate or 16000} channels={channels}"
        self._text = text
        self._rate = rate or 16000
        self._channels = values or channels
        self._bound = _runnel.Graph(f"{source} ! {text}", 1, 4096, "reset", False, {}, [], {})
        ends = self._bound.ends
        if len(ends) != 1:
            raise InvalidArgument(f"the front end \"{text}\" has {len(ends)} ends, expected 1")
        self._about = ends[0]
        self._next = 0

    def push(self, samples: Any) -> np.ndarray:
        """Takes samples and returns the frames that became ready, [frames, dims].

        samples: array [samples], or [samples, channels] for several channels: float32 as it is, other floats are
        rounded to it, int16 and int32 as fractions of their range (as recordings are read). For front ends of frames:
        [frames, values].
        """
        self._bound.feed(samples)
        return self._take()

    def flush(self) -> np.ndarray:
        """The recording has ended: returns the remaining frames and begins a new one."""
        self._bound.finish()
        frames = self._take()
        self.reset()
        return frames

    def whole(self, samples: Any) -> np.ndarray:
        """All frames of a whole recording, [frames, dims]. A recording that push() has begun is dropped."""
        self.reset()
        self._bound.feed(samples)
        self._bound.finish()
        frames = self._take()
        self.reset()
        return frames

    __call__ = whole

    def reset(self) -> None:
        """Back to the start of a recording."""
        self._bound.restart()
        self._next = 0

    def _take(self) -> np.ndarray:
        part = self._bound.take(0)
        if part.runs:
            self._next = part.runs[-1][1] + len(part.data) - part.runs[-1][0]
        return part.data

    @property
    def text(self) -> str:
        """Graph text with every parameter, as it is stored in a model."""
        return self._text

    @property
    def rate(self) -> int:
        """Of the samples, in Hz."""
        return self._rate

    @property
    def dims(self) -> int:
        """Values of a frame; channels, where samples come out."""
        return self._about["values"]

    @property
    def dtype(self) -> np.dtype:
        """Type of the values."""
        return self._about["dtype"]

    @property
    def frame_rate(self) -> float:
        """Frames (or samples) that come out per second."""
        return self._about["rate"]

    @property
    def next(self) -> int:
        """Index of the next frame to come."""
        return self._next

    def __repr__(self) -> str:
        return f"<runnel.{type(self).__name__} {self.dims} values, {self.frame_rate:g} per second: {self.text}>"


class Fbank(FrontEnd):
    """Log-mel filter banks [frames, num_mel_bins], or what the preset computes.

    preset: "kaldi" as torchaudio.compliance.kaldi.fbank, or one of presets(); presets of several nodes (normalization,
        stacked frames) come whole. Fixed-point presets are those of the node microfrontend.
    parameters: instead of the preset's: num_mel_bins, frame_length and frame_shift in ms, sample_frequency, low_freq
        and high_freq in Hz, window_type, dither, preemphasis_coefficient, snip_edges, use_energy, scale and others.
    """

    _kind = ""

    def __init__(self, preset: str = "kaldi", *, channels: int = 1, **parameters: Any) -> None:
        super().__init__(_runnel.recipe_text(preset, self._kind, _settings(parameters)), 0, channels)


class Mfcc(Fbank):
    """Cepstral coefficients [frames, num_ceps], as torchaudio.compliance.kaldi.mfcc; parameters as Fbank."""

    _kind = "mfcc"


class Spectrogram(Fbank):
    """Log power spectra [frames, bins], as torchaudio.compliance.kaldi.spectrogram; parameters as Fbank."""

    _kind = "spectrogram"


class _Node(FrontEnd):
    """A front end of one node."""

    _node = ""

    def __init__(self, rate: int = 0, *, channels: int = 1, **parameters: Any) -> None:
        super().__init__(self._node + _settings(parameters), rate, channels)


class Microfrontend(_Node):
    """Fixed-point filter banks of TensorFlow Lite Micro: preset, num_mel_bins, dtype and others."""

    _node = "microfrontend"


class Stft(_Node):
    """Complex spectra [frames, 2 * (n_fft/2 + 1)]: real parts, then imaginary parts.

    n_fft, win_length, hop_length, window_type, center, pad_mode as in torch.stft; pairs=True: pairs of both parts.
    """

    _node = "stft"

    def complex(self, spectra: np.ndarray) -> np.ndarray:
        """The spectra as complex64 [frames, bins]."""
        bins = spectra.shape[1] // 2
        if "pairs=true" in self.text.split():
            return np.ascontiguousarray(spectra).view(np.complex64)
        return (spectra[:, :bins] + 1j * spectra[:, bins:]).astype(np.complex64)


class _FramesNode(FrontEnd):
    """A front end of one node that takes frames."""

    _node = ""

    def __init__(self, values: int, *, rate: int = 16000, hop: int = 160, span: int = 400, **parameters: Any) -> None:
        super().__init__(self._node + _settings(parameters), rate, values=values, hop=hop, span=span)


class InverseStft(FrontEnd):
    """Samples [samples, 1] from the spectra of Stft with the same parameters; rate: of the samples in Hz."""

    def __init__(self, rate: int = 16000, **parameters: Any) -> None:
        n_fft = int(parameters.get("n_fft", 512))
        hop = int(parameters.get("hop_length") or n_fft // 4)
        span = int(parameters.get("win_length") or n_fft)
        super().__init__("istft" + _settings(parameters), rate, values=2 * (n_fft // 2 + 1), hop=hop, span=span)


class Cmvn(_FramesNode):
    """Normalizes frames of `values` numbers by mean and variance (parameters of the node cmvn)."""

    _node = "cmvn"


class Deltas(_FramesNode):
    """Appends differences of frames (parameters of the node deltas)."""

    _node = "deltas"


class Stack(_FramesNode):
    """Stacks neighbouring frames to one (parameters of the node stack)."""

    _node = "stack"


class Resampler(FrontEnd):
    """Another sample rate: samples [samples, channels] at `to` Hz from such at `rate` Hz; times stay exact."""

    def __init__(self, rate: int, to: int, *, channels: int = 1, **parameters: Any) -> None:
        super().__init__(f"resample rate={to}" + _settings(parameters), rate, channels)


class Framing(_Node):
    """Windows of samples as frames (parameters of the node framing)."""

    _node = "framing"


class Statistics(_Node):
    """Statistics of windows over sensors (parameters of the node statistics)."""

    _node = "statistics"


class Levels(_Node):
    """Levels of windows: rms, peak and others (parameters of the node levels)."""

    _node = "levels"


class HighPass(_Node):
    """Samples without what lies below a frequency (parameters of the node highpass)."""

    _node = "highpass"


class Preemphasis(_Node):
    """Samples minus a part of the previous one (parameters of the node preemphasis)."""

    _node = "preemphasis"
