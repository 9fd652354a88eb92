module github.com/stint-dev/stint

go 1.26
