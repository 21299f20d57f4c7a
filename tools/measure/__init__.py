# SPDX-License-Identifier: BSD-2-Clause
"""Performance measurements, each by one command: ``quintet measure TOPIC/TABLE``.

Every folder here is a topic, and so is ``firmware/<isa>/measure`` of each core; its ``__init__``
exports ``MEASURES``, table -> :class:`Measure`. What a table is measured with (programs, benches,
clocks) lies beside it; tests import it from there.
"""

from .choice import Choice
from .row import Differs, Measure, Row

__all__ = ["Choice", "Differs", "Measure", "Row"]
