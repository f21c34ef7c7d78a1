import { expect, test } from "vitest";
import { agentWord, memberName } from "./data";

test("browsers in a few words", () => {
  expect(agentWord("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36")).toBe(
    "Chrome 141 on Linux",
  );
  expect(agentWord("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:143.0) Gecko/20100101 Firefox/143.0")).toBe("Firefox 143 on macOS");
  expect(agentWord("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.1")).toBe(
    "Edge 141 on Windows",
  );
  expect(agentWord("curl/8.5.0")).toBe("curl 8");
  expect(agentWord("node")).toBe("node");
});

test("a member is an address, a group or a person", () => {
  expect(memberName({ email: "ada@example.com", group: null, issuer: null, person: null })).toBe("ada@example.com");
  expect(memberName({ email: null, group: "eng", issuer: "corp", person: null })).toBe("eng (group of corp)");
});
