"""Failures: each carries one sentence that names the place, what was expected and what was found."""


class Error(Exception):
    """Everything that runnel refuses or cannot do."""

    __module__ = "runnel"


class InvalidArgument(Error, ValueError):
    """The caller asked for something that makes no sense."""

    __module__ = "runnel"


class InvalidData(Error, ValueError):
    """A file or a stream is not what it claims to be."""

    __module__ = "runnel"


class Unsupported(Error, NotImplementedError):
    """Understood, but not something that this build can do."""

    __module__ = "runnel"


class NotFound(Error, LookupError):
    """A name, file or device does not exist."""

    __module__ = "runnel"



class OutOfMemory(Error, MemoryError):
    """Too little memory."""

    __module__ = "runnel"


class IoError(Error, OSError):
    """The operating system refused."""

    __module__ = "runnel"


class Mismatch(Error, ValueError):
    """Two parts that must agree do not: types, sizes, formats, versions."""

    __module__ = "runnel"
