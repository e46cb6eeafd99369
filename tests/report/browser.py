"""A headless Chromium spoken to over a pipe (DevTools protocol): the standard library is enough."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class Browser:
    """One page of one browser; `complaints` are console errors, exceptions and requests that failed."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        (theirs, self.out), (self.back, ours) = os.pipe(), os.pipe()
        command = f'exec "$0" "$@" 3<&{theirs} 4>&{ours}'
        arguments = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", command, *arguments],
            pass_fds=(theirs, ours),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(ours)
        self.number, self.buffer, self.session = 0, b"", None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        os.close(self.out)
        os.close(self.back)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        number, message = self.number, {"id": self.number, "method": method, "params": parameters}
        whole = message | ({"sessionId": self.session} if self.session else {})
        os.write(self.out, json.dumps(whole).encode() + b"\0")
        while (answer := self._next()).get("id") != number:
            self._hear(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            chunk = os.read(self.back, 1 << 16)
            assert chunk, "the browser is gone"
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _hear(self, event: dict[str, Any]) -> None:
        method, what = event.get("method"), event.get("params", {})
        if method in ("Runtime.exceptionThrown", "Network.loadingFailed") or (
            method == "Log.entryAdded" and what["entry"]["level"] == "error"
        ):
            self.complaints.append(json.dumps(what))
        if method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def open(self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=page.as_uri())
        ready = f"document.readyState === 'complete' && location.href === {json.dumps(page.as_uri())}"
        while self.js(ready) is not True:
            pass

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, path: Path) -> Path:
        """A PNG of the whole page, for a person to look at."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))
        return path
