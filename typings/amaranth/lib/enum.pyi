# SPDX-License-Identifier: BSD-2-Clause
# Enumerations with a shape: the standard library's, with Amaranth's arguments of a class.
import enum
from typing import Any

class Enum(enum.Enum):  # type: ignore[misc]  # a base class without members
    def __init_subclass__(cls, *, shape: Any = ..., view_class: Any = ...) -> None: ...

class IntEnum(enum.IntEnum):  # type: ignore[misc]  # a base class without members
    def __init_subclass__(cls, *, shape: Any = ..., view_class: Any = ...) -> None: ...

class Flag(enum.Flag):  # type: ignore[misc]  # a base class without members
    def __init_subclass__(cls, *, shape: Any = ..., view_class: Any = ...) -> None: ...

class IntFlag(enum.IntFlag):  # type: ignore[misc]  # a base class without members
    def __init_subclass__(cls, *, shape: Any = ..., view_class: Any = ...) -> None: ...

def __getattr__(name: str) -> Any: ...
