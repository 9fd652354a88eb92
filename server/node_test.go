package server_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// nodeProgram asks as a program in another language would. It prints what it got.
const nodeProgram = `
const ask = async (path, body) => {
  const res = await fetch("http://%s" + path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const d = await res.json();
  return { status: res.status, ...d };
};
const search = { method: "GET", path: "/v1/search?q=ä", ip: "192.0.2.7", headers: { "x-api-key": "kä" } };
for (let i = 0; i < 4; i++) {
  const d = await ask("/v1/check", search);
  console.log(d.status, d.allowed, d.policy, d.remaining, d.reason ?? "-", d.retry_after_us / 1e6);
}
const otp = (cost) => ({ charges: [{ rule: "send-otp", key: ["+49 171 ü"], cost }] });
for (const [path, cost] of [["/v1/check", 5], ["/v1/check", 1], ["/v1/refund", 2], ["/v1/check", 0], ["/v1/check", 6]]) {
  const d = await ask(path, otp(cost));
  console.log(path, d.allowed, d.remaining, d.retry_after_us);
}
const batch = await ask("/v1/check", { checks: [search, otp(0)] });
console.log(batch.decisions.map((d) => d.policy).join(" "));
const bad = await ask("/v1/check", { charges: [{ rule: "send-opt" }] });
console.log(bad.status, bad.pointer, bad.detail);
`

const nodeOutput = `200 true search 2 - 0
200 true search 1 - 0
200 true search 0 - 0
200 false search 0 limit 60
/v1/check true 0 0
/v1/check false 0 3600000000
/v1/refund true 2 0
/v1/check true 2 0
/v1/check false 2 null
search send-otp
400 /charges/0 there is no rule "send-opt": did you mean send-otp?
`

func TestNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: it comes from nodejs.org")
	}
	cmd := exec.Command(node, "--input-type=module", "-e", fmt.Sprintf(nodeProgram, serve(t).listen()))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil || string(out) != nodeOutput {
		t.Errorf("%v %s\n%s\nwant\n%s", err, problems.String(), out, nodeOutput)
	}
}
