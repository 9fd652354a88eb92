package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stint-dev/stint/replay"
)

// replayText is a report for people.
func replayText(r *replay.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", plural(r.Requests, "request"))
	if r.Requests > 0 {
		fmt.Fprintf(&b, " from %s to %s", timeText(r.First), timeText(r.Last))
	}
	fmt.Fprintf(&b, "\n%d refused (%s)", r.Refused, percent(r.Refused, r.Requests))
	if r.Delayed > 0 {
		fmt.Fprintf(&b, ", %d delayed", r.Delayed)
	}
	b.WriteString("\n")
	unreadableText(&b, r)
	if r.OutOfOrder > 0 {
		fmt.Fprintf(&b, "%s more than %s out of order: counted at their own time\n", were(r.OutOfOrder), minutes(replay.Disorder))
	}
	for i := range r.Rules {
		b.WriteString("\n")
		ruleText(&b, &r.Rules[i])
	}
	return b.String()
}

// were is "N lines were".
func were(n int64) string {
	if n == 1 {
		return "1 line was"
	}
	return fmt.Sprintf("%d lines were", n)
}

func minutes(d time.Duration) string { return fmt.Sprintf("%dm", d/time.Minute) }

func unreadableText(b *strings.Builder, r *replay.Report) {
	if r.Unreadable == 0 {
		return
	}
	reasons := slices.SortedFunc(maps.Keys(r.Reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Reasons[b], r.Reasons[a]), strings.Compare(a, b))
	})
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s %d", reason, r.Reasons[reason])
	}
	fmt.Fprintf(b, "%s could not be read: %s\n", plural(r.Unreadable, "line"), strings.Join(reasons, ", "))
	for _, sample := range r.Samples {
		b.WriteString("  " + sample + "\n")
	}
}

func ruleText(b *strings.Builder, r *replay.Rule) {
	b.WriteString(r.ID)
	if r.Mode != "enforce" {
		b.WriteString(" (" + r.Mode + ")")
	}
	fmt.Fprintf(b, ": %s", plural(r.Matched, "request"))
	verb := "refused"
	if r.Mode == "shadow" {
		verb = "would have been refused"
	}
	if r.Mode == "enforce" || r.Mode == "shadow" {
		fmt.Fprintf(b, ", %d %s (%s)", r.Refused, verb, percent(r.Refused, r.Matched))
	}
	b.WriteString("\n")
	if r.Refused > 0 {
		fmt.Fprintf(b, "  first %s, last %s\n", timeText(r.FirstRefused), timeText(r.LastRefused))
		least := ""
		if r.Inexact {
			least = "at least "
		}
		fmt.Fprintf(b, "  %s%s refused, most often:\n", least, plural(r.KeysRefused, "key"))
	}
	for _, k := range r.Top {
		fmt.Fprintf(b, "    %7d  %s\n", k.Refused, k.Key)
	}
	if r.TopMissed > 0 {
		fmt.Fprintf(b, "    too many keys to count them all: a figure may be too low by up to %d\n", r.TopMissed)
	}
	for i := range r.Limits {
		limitText(b, r, &r.Limits[i])
	}
	for _, note := range r.Notes {
		b.WriteString("  note: " + note + "\n")
	}
}

func limitText(b *strings.Builder, r *replay.Rule, l *replay.Limit) {
	fmt.Fprintf(b, "  %s (%s)", l.Limit, l.Algorithm)
	if len(r.Limits) > 1 {
		fmt.Fprintf(b, ": %s, %d refused", plural(l.Asked, "request"), l.Refused)
	}
	b.WriteString("\n")
	for _, s := range []struct {
		share string
		limit *replay.Smallest
	}{{"0.1 %", l.PerMille}, {"1 %", l.Percent}} {
		if s.limit != nil {
			fmt.Fprintf(b, "    refusing at most %-5s would take %s\n", s.share, s.limit.Limit)
		}
	}
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func percent(part, whole int64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(whole))
}
