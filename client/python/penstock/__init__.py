"""Client for Penstock's durable jobs. It needs the standard library only.

Every call is safe to repeat: reads change nothing, and a submit always carries an Idempotency-Key. So calls are retried after
errors that say so, and after broken connections, never earlier than the server asked for.

A Client is safe for use by several threads.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import http.client
import json
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Optional, TypedDict, Union

__all__ = ["Client", "ConnectionBroken", "Counts", "Input", "Job", "PenstockError", "Result", "WebhookError", "verify_webhook"]

API_VERSION = "2026-12-01"
MAX_WAIT_SECONDS = 60
MAX_RETRY_AFTER_SECONDS = 30.0
MAX_ANSWER_BYTES = 128 << 20
WEBHOOK_TOLERANCE_SECONDS = 300


class Counts(TypedDict):
    total: int
    queued: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    expired: int


class Input(TypedDict, total=False):
    """One of several inputs."""

    custom_id: str
    body: Union[str, dict[str, Any]]


class Result(TypedDict, total=False):
    """An item and its outcome."""

    item_id: str
    index: int
    seq: int
    custom_id: Optional[str]
    status: Literal["queued", "running", "succeeded", "failed", "cancelled", "expired"]
    response: Any
    error: Optional[dict[str, Any]]
    usage: dict[str, Any]


class Job(TypedDict, total=False):
    """A job. A newer server may send more members."""

    id: str
    status: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    outcome: Optional[Literal["all_succeeded", "mixed", "none_succeeded"]]
    model: str
    lane: Literal["realtime", "standard", "bulk"]
    tags: dict[str, str]
    counts: Counts
    usage: dict[str, Any]
    created_at: str
    finished_at: Optional[str]
    deadline: str
    result: Optional[Result]


class PenstockError(Exception):
    """An error that the server answered with."""

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: float) -> None:
        super().__init__(body.get("message") or f"the server answered {status}")
        self.status = status
        self.code: Optional[str] = body.get("code")
        self.param: Optional[str] = body.get("param")
        self.request_id: Optional[str] = body.get("request_id")
        self.retryable: bool = bool(body.get("retryable", status >= 500))
        self.retry_after = retry_after


class ConnectionBroken(Exception):
    """A connection that broke. Whether the server received the call is not known."""


class WebhookError(Exception):
    """A webhook that must not be trusted."""


class Client:
    """Calls Penstock."""

    def __init__(
        self,
        api_key: str,
        url: str = "http://127.0.0.1:8080",
        *,
        max_tries: int = 6,
        timeout: float = 30.0,
        ca_file: Optional[str] = None,
        open_url: Optional[Callable[..., Any]] = None,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"the URL of Penstock must look like https://penstock.example.com, not {url!r}")
        self._url = url.rstrip("/")
        self._key = api_key
        self._max_tries = max_tries
        self._timeout = timeout
        context = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        # A redirect must not carry the key to another server.
        opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))
        self._open = open_url or opener.open

    def submit_job(
        self,
        model: str,
        *,
        input: Union[str, dict[str, Any], None] = None,
        messages: Optional[list[dict[str, Any]]] = None,
        inputs: Optional[list[Union[str, Input]]] = None,
        idempotency_key: Optional[str] = None,
        wait: int = 0,
        **fields: Any,
    ) -> Job:
        """Submits a job. When it returns, the job is on stable storage. Further fields are those of POST /v1/jobs."""
        job = {"model": model, "input": input, "messages": messages, "inputs": inputs, **fields}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        if wait:
            headers["Prefer"] = f"wait={min(wait, MAX_WAIT_SECONDS)}"
        return self._json("POST", "/v1/jobs", {k: v for k, v in job.items() if v is not None}, headers)

    def job(self, job_id: str) -> Job:
        return self._json("GET", _job_path(job_id))

    def wait_job(self, job_id: str, *, timeout: Optional[float] = None) -> Job:
        """Returns the job once it is finished. It raises TimeoutError if that takes longer than timeout seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = MAX_WAIT_SECONDS if end is None else max(0, min(MAX_WAIT_SECONDS, int(end - time.monotonic())))
            job = self._json("GET", _job_path(job_id), None, {"Prefer": f"wait={left}"} if left else {})
            if job.get("finished_at"):
                return job
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"{job_id} is not finished after {timeout} seconds; it goes on")
            time.sleep(0.5)  # a server that does not wait must not be asked in a tight loop

    def cancel_job(self, job_id: str) -> Job:
        """Asks a job to stop. Finished items keep their results."""
        return self._json("POST", _job_path(job_id) + "/cancel")

    def list_jobs(self, **query: str) -> Iterator[Job]:
        """Yields jobs, newest first. The query is that of GET /v1/jobs."""
        while True:
            page = self._json("GET", "/v1/jobs?" + urllib.parse.urlencode(query))
            yield from page["data"]
            if not page["has_more"] or not page["data"]:
                return
            query = {**query, "after": page["data"][-1]["id"]}

    def results(self, job_id: str, *, order: Literal["completion", "input"] = "completion", after: Optional[int] = None) -> Iterator[Result]:
        """Yields the results that are there by now, each once. A connection that breaks is taken up where it broke."""
        failed = 1
        while True:
            query = {"order": order} if after is None else {"order": order, "after": str(after)}
            try:
                with self._send("GET", f"{_job_path(job_id)}/results?{urllib.parse.urlencode(query)}") as answer:
                    for line in _lines(answer):
                        result: Result = json.loads(line)
                        after = result["index"] if order == "input" else result["seq"]
                        failed = 1
                        yield result
                return
            except (PenstockError, ConnectionBroken) as error:
                self._pause(failed, error)
                failed += 1

    def _json(self, method: str, path: str, body: Any = None, headers: Optional[dict[str, str]] = None) -> Any:
        failed = 1
        while True:
            try:
                with self._send(method, path, body, headers) as answer:
                    try:
                        return json.loads(answer.read(MAX_ANSWER_BYTES))
                    except (OSError, http.client.HTTPException, ValueError) as error:
                        raise ConnectionBroken("the answer is not whole") from error
            except (PenstockError, ConnectionBroken) as error:
                self._pause(failed, error)
                failed += 1

    def _send(self, method: str, path: str, body: Any = None, headers: Optional[dict[str, str]] = None) -> Any:
        request = urllib.request.Request(self._url + path, method=method, headers={
            "Authorization": "Bearer " + self._key, "penstock-version": API_VERSION, "User-Agent": "penstock-python", **(headers or {}),
        })
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        waits = MAX_WAIT_SECONDS if request.has_header("Prefer") else 0
        try:
            return self._open(request, timeout=self._timeout + waits)
        except urllib.error.HTTPError as error:
            with error:
                raise _server_error(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionBroken(f"reaching Penstock at {self._url}: {error}") from error

    def _pause(self, failed: int, error: Union[PenstockError, ConnectionBroken]) -> None:
        """Waits before a call is made again, or raises the error of a call that must not be."""
        least = 0.0
        if isinstance(error, PenstockError):
            least = error.retry_after
            if not error.retryable or least > MAX_RETRY_AFTER_SECONDS:
                raise error
        if failed >= self._max_tries:
            raise error
        time.sleep(least + random.uniform(0, min(0.5 * 2 ** (failed - 1), 8.0)))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _job_path(job_id: str) -> str:
    return "/v1/jobs/" + urllib.parse.quote(job_id, safe="")


def _server_error(error: urllib.error.HTTPError) -> PenstockError:
    try:
        body = json.loads(error.read(1 << 20))["error"]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        body = {}  # the answer of a proxy
    try:
        wait = float(error.headers.get("retry-after-ms") or 1000 * float(error.headers.get("Retry-After") or 0)) / 1000
    except ValueError:
        wait = 0.0
    return PenstockError(error.code, body if isinstance(body, dict) else {}, wait)


def _lines(answer: Any) -> Iterator[bytes]:
    """Yields the whole lines of an answer. What a broken connection leaves behind is no line."""
    while True:
        try:
            line = answer.readline()
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionBroken("the connection broke in the middle of the answer") from error
        if not line:
            return
        if not line.endswith(b"\n"):
            raise ConnectionBroken("the answer ended in the middle of a line")
        if line.strip():
            yield line


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str, *, now: Optional[float] = None) -> Any:
    """Verifies a webhook and returns its event. The body is what was received, before any parsing.

    It raises WebhookError if the signature is not that of the secret, or if the message is too old.
    """
    named = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = named.get("webhook-id", ""), named.get("webhook-timestamp", "")
    if not message_id or not (timestamp.isascii() and timestamp.isdigit()):
        raise WebhookError("the webhook has no webhook-id or no webhook-timestamp")
    if abs((time.time() if now is None else now) - int(timestamp)) > WEBHOOK_TOLERANCE_SECONDS:
        raise WebhookError("the timestamp of the webhook is too old or too new")
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise WebhookError("the secret is not one of Penstock's: it must look like whsec_…") from error
    want = base64.b64encode(hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest())
    for signature in named.get("webhook-signature", "").split():
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value.encode(), want):
            return json.loads(body)
    raise WebhookError("the webhook is not signed with this secret")
