"""What schemathesis is told beyond the OpenAPI document."""

import schemathesis

# A valid `wait_ms` makes the service wait, up to 30 s a request. Valid waits
# are cut to this; the ones the schema forbids are sent as they are.
LONGEST_WAIT_MS = 50


@schemathesis.hook
def before_call(context, case, kwargs):
    wait = (case.query or {}).get("wait_ms")
    text = str(wait)
    if text.isascii() and text.isdigit() and LONGEST_WAIT_MS < int(text) <= 30_000:
        case.query["wait_ms"] = LONGEST_WAIT_MS
