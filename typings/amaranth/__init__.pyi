# SPDX-License-Identifier: BSD-2-Clause
# Amaranth comes without types. Everything is of unknown type but what stands in these stubs.
from typing import Any

def __getattr__(name: str) -> Any: ...
