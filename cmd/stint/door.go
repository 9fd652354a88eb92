package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/stint-dev/stint/admin"
)

// door is one way in.
type door struct {
	name  string // in listen and of the flag
	about string // what is behind it, for people
	at    string // the address to listen on; "" is off
	// serve answers on l until ctx ends and what is under way is answered.
	serve func(ctx context.Context, l net.Listener) error

	listener net.Listener
}

// listen opens the door.
func (d *door) listen() error {
	l, err := net.Listen("tcp", d.at)
	switch {
	case err == nil:
		d.listener = l
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: %s is in use: end what listens there, or give another address with --%s", d.name, d.at, d.name)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: not allowed to listen on %s: give a port from 1024 up with --%s", d.name, d.at, d.name)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return fmt.Errorf("%s: can not listen on %s: %w", d.name, d.at, err)
}

// String says where the door is and what is behind it.
func (d *door) String() string {
	return fmt.Sprintf("%s listens on %s%s", d.name, d.listener.Addr(), d.about)
}

// doors are the ways in, one beside the other.
type doors []*door

// open opens all that are not off, or none. The others are left out.
func (ds doors) open() (doors, error) {
	var opened doors
	for _, d := range ds {
		if d.at == "" {
			continue
		}
		if err := d.listen(); err != nil {
			opened.close()
			return nil, err
		}
		opened = append(opened, d)
	}
	return opened, nil
}

// close closes the listeners of doors that are not served.
func (ds doors) close() {
	for _, d := range ds {
		_ = d.listener.Close() // Nobody has come in.
	}
}

// shown are the doors as the admin shows them.
func (ds doors) shown() []admin.Listener {
	all := make([]admin.Listener, len(ds))
	for i, d := range ds {
		all[i] = admin.Listener{Name: d.name, Address: d.listener.Addr().String()}
	}
	return all
}

// serve serves all doors until ctx ends and what is under way is answered. When one
// fails the others end too.
func (ds doors) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(ds))
	for _, d := range ds {
		go func() {
			err := d.serve(ctx, d.listener)
			if err != nil {
				err = fmt.Errorf("the %s listener failed: %w", d.name, err)
			}
			ended <- err
		}()
	}
	var errs []error
	for range ds {
		err := <-ended
		if err != nil {
			cancel()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
