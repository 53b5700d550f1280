"""The audit: reads delivery logs (docs/DELIVERY_LOG.md) and says, with evidence, which promises held.

`audit` judges logs from Python as the command does; `deliveries`, `sends` and `views` give the logs themselves as Spark
DataFrames (docs/audit-python.md). `api` has all four, and imports what does the work when one of them is called.
"""

from __future__ import annotations

from gcom.audit.api import audit as audit
from gcom.audit.api import deliveries as deliveries
from gcom.audit.api import sends as sends
from gcom.audit.api import views as views

__all__ = ["audit", "deliveries", "sends", "views"]
