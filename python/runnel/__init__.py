"""runnel: trained audio and sensor models as running streams.

    import runnel
    model = runnel.load("digits")
    for event in model.listen("recording.wav"):
        print(event.label, event.start, event.score)

Models, sessions, front ends and graphs give the bits of the program `runnel`. docs/python.md has a tour.
"""

from . import _runnel
from ._runnel import Frames, Session
from .convert import Evaluation, OperatorReport, OutputReport, Quantized, export, import_model, quantize
from .errors import (Error, InvalidArgument, InvalidData, IoError, Mismatch, NotFound, OutOfMemory, Unsupported)
from .events import Event
from .firmware import Embedded, embed
from .front_ends import (Cmvn, Deltas, Fbank, Framing, FrontEnd, HighPass, InverseStft, Levels, Mfcc, Microfrontend,
                         Preemphasis, Resampler, Spectrogram, Stack, Statistics, Stft, presets)
from .graphs import EventStream, Graph, Output, Result, read_wav
from .models import Check, Model, Stream, load, models

__version__: str = _runnel.version
vector_instructions: str = _runnel.vector_instructions

__all__ = [
    "Check", "Cmvn", "Deltas", "Embedded", "Error", "Evaluation", "Event", "EventStream", "Fbank", "Frames", "Framing",
    "FrontEnd", "Graph", "HighPass", "InvalidArgument", "InvalidData", "InverseStft", "IoError", "Levels", "Mfcc",
    "Microfrontend", "Mismatch", "Model", "NotFound", "OperatorReport", "OutOfMemory", "Output", "OutputReport",
    "Preemphasis", "Quantized", "Resampler", "Result", "Session", "Spectrogram", "Stack", "Statistics", "Stft",
    "Stream", "Unsupported", "embed", "export", "import_model", "load", "models", "presets", "quantize", "read_wav",
    "vector_instructions",
]
