package resp

// Bounds of a transaction. Who needs longer ones does not need a transaction.
const (
	maxQueued      = 1024
	maxQueuedBytes = 64 << 10
)

// multi is a transaction: many clients send a pipeline as one. Its commands are run
// one after the other; each is settled at once, and others may come between.
type multi struct {
	open   bool
	failed bool       // a command was refused, so that none is run
	queued [][][]byte // copies
	bytes  int
}

// queue keeps a command of a transaction and says so.
func (c *conn) queue(name string, args [][]byte) {
	if find(args[0]) < 0 {
		c.multi.failed = true
		c.unknown(args)
		return
	}
	size := 0
	for _, a := range args {
		size += len(a)
	}
	if c.multi.bytes += size; c.multi.bytes > maxQueuedBytes || len(c.multi.queued) == maxQueued {
		c.multi = multi{open: true, failed: true, bytes: maxQueuedBytes}
		c.out.fail("ERR a transaction of more than 1024 commands or 64 KiB: send '" + name + "' without MULTI")
		return
	}
	buf, kept := make([]byte, 0, size), make([][]byte, len(args))
	for i, a := range args {
		buf = append(buf, a...)
		kept[i] = buf[len(buf)-len(a) : len(buf) : len(buf)]
	}
	c.multi.queued = append(c.multi.queued, kept)
	c.out.simple("QUEUED")
}

// begin answers MULTI.
func (c *conn) begin(args [][]byte) {
	switch {
	case !c.arity("multi", args, 1, 1):
	case c.multi.open:
		c.out.fail("ERR MULTI calls can not be nested")
	default:
		c.multi = multi{open: true}
		c.out.simple("OK")
	}
}

// discard answers DISCARD.
func (c *conn) discard(args [][]byte) {
	switch {
	case !c.arity("discard", args, 1, 1):
	case !c.multi.open:
		c.out.fail("ERR DISCARD without MULTI")
	default:
		c.multi = multi{}
		c.out.simple("OK")
	}
}

// exec answers EXEC.
func (c *conn) exec(args [][]byte) {
	if !c.arity("exec", args, 1, 1) {
		return
	}
	m := c.multi
	c.multi = multi{}
	switch {
	case !m.open:
		c.out.fail("ERR EXEC without MULTI")
		return
	case m.failed:
		c.out.fail("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	c.out.array(len(m.queued))
	for i, command := range m.queued {
		c.run(command, i+1 < len(m.queued))
	}
	c.settle()
}
