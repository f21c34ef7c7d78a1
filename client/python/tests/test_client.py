"""Runs the client against a real server. The environment names it: PENSTOCK_URL and PENSTOCK_API_KEY."""

import base64
import hashlib
import hmac
import io
import json
import os
import pathlib
import time
import typing
import unittest
import urllib.request

import penstock

URL, KEY = os.environ["PENSTOCK_URL"], os.environ["PENSTOCK_API_KEY"]


class Jobs(unittest.TestCase):
    def setUp(self) -> None:
        self.client = penstock.Client(KEY, URL)

    def test_job_from_submit_to_results(self) -> None:
        job = self.client.submit_job("sim", inputs=["One", {"custom_id": "two", "body": "Two"}, "Three"], tags={"team": "python"})
        done = self.client.wait_job(job["id"], timeout=60)
        self.assertEqual(done["outcome"], "all_succeeded")
        self.assertEqual([r["index"] for r in self.client.results(job["id"], order="input")], [0, 1, 2])
        self.assertEqual([r["index"] for r in self.client.results(job["id"], order="input", after=1)], [2])
        self.assertEqual([j["id"] for j in self.client.list_jobs(tag="team:python", limit="1")], [job["id"]])
        self.assertEqual(self.client.job(job["id"])["counts"]["succeeded"], 3)
        self.assertEqual(self.client.cancel_job(job["id"])["status"], "succeeded")

    def test_lost_answer_makes_no_second_job(self) -> None:
        calls = []

        def flaky(request: urllib.request.Request, timeout: float) -> typing.Any:
            calls.append(request)
            answer = urllib.request.urlopen(request, timeout=timeout)
            if len(calls) == 1:
                answer.close()
                raise ConnectionResetError("the answer was lost")
            return answer

        flaky_client = penstock.Client(KEY, URL, open_url=flaky)
        once = flaky_client.submit_job("sim", messages=[{"role": "user", "content": "Only once"}], idempotency_key="py-once", wait=30)
        again = self.client.submit_job("sim", messages=[{"role": "user", "content": "Only once"}], idempotency_key="py-once")
        self.assertEqual((len(calls), once["id"], once["status"]), (2, again["id"], "succeeded"))

    def test_broken_results_are_taken_up(self) -> None:
        job = self.client.submit_job("sim", inputs=["A", "B", "C"])
        self.client.wait_job(job["id"], timeout=60)
        cuts = []

        def cut(request: urllib.request.Request, timeout: float) -> typing.Any:
            answer = urllib.request.urlopen(request, timeout=timeout)
            if "/results" not in request.full_url or cuts:
                return answer
            cuts.append(1)
            text = answer.read()
            answer.close()
            return io.BytesIO(text[: text.index(b"\n") + 20])

        client = penstock.Client(KEY, URL, open_url=cut)
        self.assertEqual(sorted(r["index"] for r in client.results(job["id"])), [0, 1, 2])

    def test_errors(self) -> None:
        with self.assertRaises(penstock.PenstockError) as wrong:
            self.client.submit_job("sim", prompt="x")
        self.assertEqual((wrong.exception.status, wrong.exception.param), (400, "prompt"))
        self.assertIn("a plain prompt goes into input", str(wrong.exception))
        with self.assertRaises(penstock.PenstockError) as missing:
            self.client.job("job_01JQ0000000000000000000000")
        self.assertEqual((missing.exception.code, missing.exception.retryable), ("not_found", False))
        with self.assertRaises(penstock.ConnectionBroken):
            penstock.Client("x", "http://127.0.0.1:1", max_tries=1).job("job_1")
        with self.assertRaises(ValueError):
            penstock.Client("x", "ftp://example.com")


class Webhooks(unittest.TestCase):
    def test_signatures(self) -> None:
        key, body, now = b"a secret of some length", b'{"type":"job.finished"}', int(time.time())
        secret = "whsec_" + base64.b64encode(key).decode()

        def sign(text: bytes, at: int) -> dict[str, str]:
            digest = base64.b64encode(hmac.new(key, f"evt_1.{at}.".encode() + text, hashlib.sha256).digest()).decode()
            return {"Webhook-Id": "evt_1", "webhook-timestamp": str(at), "webhook-signature": "v1,AAAA v1," + digest}

        self.assertEqual(penstock.verify_webhook(body, sign(body, now), secret), {"type": "job.finished"})
        for wrong in (
            lambda: penstock.verify_webhook(body + b" ", sign(body, now), secret),
            lambda: penstock.verify_webhook(body, sign(body, now), "whsec_AAAA"),
            lambda: penstock.verify_webhook(body, sign(body, now), "whsec_?"),
            lambda: penstock.verify_webhook(body, sign(body, now - 1000), secret),
            lambda: penstock.verify_webhook(body, {}, secret),
        ):
            with self.assertRaises(penstock.WebhookError):
                wrong()


class Types(unittest.TestCase):
    """The types have members of the schemas in the OpenAPI document, and no others."""

    def test_types_are_those_of_the_document(self) -> None:
        path = pathlib.Path(__file__).parents[3] / "docs" / "api" / "openapi-2026-12-01.json"
        schemas = json.loads(path.read_text())["components"]["schemas"]
        for name, typ in {"Job": penstock.Job, "Result": penstock.Result, "Counts": penstock.Counts, "JobInput": penstock.Input}.items():
            unknown = set(typ.__annotations__) - set(schemas[name]["properties"])
            self.assertFalse(unknown, f"{name} has no {unknown}")
        statuses = typing.get_args(typing.get_type_hints(penstock.Result)["status"])
        self.assertEqual(sorted(statuses), sorted(schemas["Status"]["enum"]))


if __name__ == "__main__":
    unittest.main()
