package accesslog

import (
	"strconv"
	"strings"
	"time"
)

// parseTime reads the ways in which logs write a time: 17/May/2015:10:05:03 +0000,
// RFC 3339, ISO 8601 with or without a separator in the offset, 2015/05/17 10:05:03, and
// seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size.
// A fraction is optional everywhere, and so is the offset, which then is where's.
func parseTime(s string, where *time.Location) (time.Time, bool) {
	switch {
	case len(s) > 10 && s[2] == '/':
		return clfTime(s, where)
	case len(s) > 10 && (s[4] == '-' || s[4] == '/'):
		return isoTime(s, where)
	}
	return epochTime(s)
}

type clock struct {
	year, month, day, hour, minute, second int
	ok                                     bool
}

// clfTime reads 17/May/2015:10:05:03 +0000.
func clfTime(s string, where *time.Location) (time.Time, bool) {
	if len(s) < 20 || s[6] != '/' || s[11] != ':' || s[14] != ':' || s[17] != ':' {
		return time.Time{}, false
	}
	c := clock{ok: true, month: monthOf(s[3:6])}
	c.day, c.year = c.number(s[0:2]), c.number(s[7:11])
	c.hour, c.minute, c.second = c.number(s[12:14]), c.number(s[15:17]), c.number(s[18:20])
	return c.time(s[20:], where)
}

// isoTime reads 2015-05-17T10:05:03Z, and 2015/05/17 10:05:03 as Caddy writes it.
func isoTime(s string, where *time.Location) (time.Time, bool) {
	if len(s) < 19 || s[7] != s[4] || s[10] != 'T' && s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, false
	}
	c := clock{ok: true}
	c.year, c.month, c.day = c.number(s[0:4]), c.number(s[5:7]), c.number(s[8:10])
	c.hour, c.minute, c.second = c.number(s[11:13]), c.number(s[14:16]), c.number(s[17:19])
	return c.time(s[19:], where)
}

// time puts a clock and what follows it, a fraction and an offset, together.
func (c *clock) time(rest string, where *time.Location) (time.Time, bool) {
	nanos, rest, ok := fraction(rest)
	if !ok || !c.ok || c.year < 1 || c.month < 1 || c.month > 12 || c.day < 1 || c.day > daysIn(c.year, c.month) ||
		c.hour > 23 || c.minute > 59 || c.second > 60 {
		return time.Time{}, false
	}
	if rest == "" && where != nil {
		return time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, nanos, where).UTC(), true
	}
	offset, ok := parseOffset(rest)
	seconds := days(c.year, c.month, c.day)*86400 + int64(c.hour*3600+c.minute*60+c.second) - offset
	return time.Unix(seconds, int64(nanos)).UTC(), ok
}

// parseOffset reads the seconds east of Greenwich out of nothing, Z, +0100 or +01:00.
func parseOffset(s string) (int64, bool) {
	s = strings.TrimPrefix(s, " ")
	if s == "" || s == "Z" {
		return 0, true
	}
	c := clock{ok: true}
	switch {
	case len(s) == 5:
		c.hour, c.minute = c.number(s[1:3]), c.number(s[3:5])
	case len(s) == 6 && s[3] == ':':
		c.hour, c.minute = c.number(s[1:3]), c.number(s[4:6])
	default:
		return 0, false
	}
	seconds := int64(c.hour*3600 + c.minute*60)
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, c.ok && (s[0] == '+' || s[0] == '-') && c.hour < 24 && c.minute < 60
}

// epochTime reads a number of seconds, or of a smaller unit where seconds would lie beyond
// the year 5000.
func epochTime(s string) (time.Time, bool) {
	whole, rest := digits(s)
	if whole == "" || len(whole) > 19 {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	if strings.ContainsAny(rest, "eE") {
		return floatTime(s)
	}
	nanos, rest, ok := fraction(rest)
	if !ok || rest != "" {
		return time.Time{}, false
	}
	switch {
	case n < 1e11:
		return time.Unix(n, int64(nanos)).UTC(), true
	case n < 1e14:
		return time.Unix(n/1e3, n%1e3*1e6+int64(nanos)/1e3).UTC(), true
	case n < 1e17:
		return time.Unix(n/1e6, n%1e6*1e3+int64(nanos)/1e6).UTC(), true
	}
	return time.Unix(n/1e9, n%1e9).UTC(), true
}

// floatTime reads seconds in a form such as 1.431857103e9.
func floatTime(s string) (time.Time, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f >= 1e11 {
		return time.Time{}, false
	}
	whole := int64(f)
	return time.Unix(whole, int64((f-float64(whole))*1e9)).UTC(), true
}

// fraction reads .123 at the beginning of s as nanoseconds; more digits than nine are cut.
func fraction(s string) (nanos int, rest string, ok bool) {
	if s == "" || s[0] != '.' && s[0] != ',' {
		return 0, s, true
	}
	part, rest := digits(s[1:])
	for i := range 9 {
		nanos *= 10
		if i < len(part) {
			nanos += int(part[i] - '0')
		}
	}
	return nanos, rest, part != ""
}

func digits(s string) (number, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

func (c *clock) number(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			c.ok = false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

func monthOf(s string) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	if i := strings.Index(names, s); i >= 0 && i%3 == 0 {
		return i/3 + 1
	}
	return 0
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// days counts the days from 1970-01-01 to a date of the Gregorian calendar. Its years
// begin in March, so that a leap day is the last of its year.
func days(year, month, day int) int64 {
	if month < 3 {
		year--
		month += 12
	}
	leap := year/4 - year/100 + year/400
	return int64(365*year+leap+(153*(month-3)+2)/5+day) - 719469
}
