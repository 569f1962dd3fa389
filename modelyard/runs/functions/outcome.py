"""Finds the outcome of a call among the lines of its log."""

import base64
import binascii
import hashlib
import hmac

from modelyard.runs.functions.payload import Call

_PROOF = hashlib.sha256().digest_size


class Outcome:
    """Collects the outcome of one call, line by line."""

    def __init__(self, call: Call) -> None:
        self._mark, self._key = f"{call.mark}:", call.key
        self._chunks: dict[int, str] = {}
        self._total = 0

    def output(self, line: str) -> str | None:
        """The call's own output in a line of its log; None if it has only a part of the outcome."""
        text, mark, rest = line.partition(self._mark)
        if not mark:
            return line
        number, _, rest = rest.partition(":")
        total, _, chunk = rest.partition(":")
        if number.isdecimal() and total.isdecimal():
            if int(number) == 0:
                # A pod in place of one that was taken away starts again.
                self._chunks.clear()
            self._chunks[int(number)], self._total = chunk, int(total)
        return text or None

    def data(self) -> bytes | None:
        """The whole outcome; None while parts of it are missing, or if it does not come from the call's container."""
        if not self._total or len(self._chunks) < self._total:
            return None
        chunks = [self._chunks.get(at, "") for at in range(self._total)]
        try:
            sealed = base64.b64decode("".join(chunks), validate=True)
        except binascii.Error:
            return None
        proof, data = sealed[:_PROOF], sealed[_PROOF:]
        expected = hmac.new(self._key, data, hashlib.sha256).digest()
        return data if hmac.compare_digest(proof, expected) else None
