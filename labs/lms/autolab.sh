#!/bin/sh
# autolab.sh LAB - grades the hand-in of this folder, handin.tar or main.c. The last line that
# it prints has the scores, whatever happens.
here=$PWD
mkdir -p submission
if [ -f handin.tar ]; then
    tar xf handin.tar -C submission --no-same-owner --no-same-permissions
elif [ -f main.c ]; then
    cp main.c submission/
fi
# Some hand in a folder with their files.
found=$(find submission -maxdepth 2 -name main.c -printf '%h\n' -quit)

grade() {
    cd zerohttpd-labs && make -s || return
    python=build/venv/bin/python
    if [ ! -x $python ]; then
        python=/usr/bin/python3
        $python -c 'import pytest' 2>/dev/null || {
            make -s build/venv/requirements.txt || return
            python=build/venv/bin/python
        }
    fi
    $python -m labs.grade "$1" "$here/${found:-submission}" --plain --autolab "$here/scores.json"
}

(grade "$1") 2>&1
if [ -s scores.json ]; then
    cat scores.json
else
    echo "This could not be graded. Tell your instructor."
    echo '{"scores": {"works": 0, "architecture": 0, "robust": 0}}'
fi
