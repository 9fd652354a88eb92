#!/bin/bash
# builds new and old, alternates; prints ratio of medians and of minima
cp /tmp/mem/ab_test.go /work/wt-memory/memstore/zz_ab_test.go
(cd /work/wt-memory/memstore && go test -c -o /tmp/mem/new.test . ); rm /work/wt-memory/memstore/zz_ab_test.go
cp /tmp/mem/ab_test.go /tmp/mem/oldsrc/memstore/zz_ab_test.go
(cd /tmp/mem/oldsrc/memstore && go test -c -o /tmp/mem/old.test . )
rm -f /tmp/mem/ab.txt
for r in $(seq ${2:-15}); do for w in old new; do
/tmp/mem/$w.test -test.run xxx -test.bench "$1" -test.benchtime ${3:-40ms} 2>&1 | grep ^Bench | awk -v w=$w '{print w, $1, $3}' >> /tmp/mem/ab.txt; done; done
python3 - <<'P'
import collections,statistics
d=collections.defaultdict(lambda: collections.defaultdict(list))
for l in open('/tmp/mem/ab.txt'):
    w,b,n=l.split(); d[b][w].append(float(n))
for b,x in sorted(d.items()):
    print(f"{b:32s} old med {statistics.median(x['old']):10.1f} min {min(x['old']):10.1f}  new med {statistics.median(x['new']):10.1f} min {min(x['new']):10.1f}  ratio med {statistics.median(x['new'])/statistics.median(x['old']):.2f} min {min(x['new'])/min(x['old']):.2f}")
P
