#!/bin/bash
#
# pin_requirements.sh [LIST...] - pins Python packages: makes each requirements.txt
# from the requirements.in next to it, with the packages that those need, and the hashes
# of all files of each version.
#
#     scripts/pin_requirements.sh                           all lists
#     scripts/pin_requirements.sh tools/requirements.in     this one
#
# Versions stay as they are until requirements.in asks for another; UPGRADE=1 takes the
# newest of those that it does not name. What pip-compile needs is installed into
# build/pin-venv/. The packages must run on Python 3.11, so 3.11 chooses them. pip
# installs with --no-deps: a package that nothing of ours calls is left out here.
set -eu
cd "$(dirname "$0")/.."

venv=build/pin-venv
[ -x $venv/bin/pip-compile ] || {
    python3.11 -m venv $venv
    $venv/bin/pip install --quiet --disable-pip-version-check pip-tools==7.6.2
}

[ $# -gt 0 ] || set -- tools/requirements.in labs/requirements.in tests/requirements.in \
    tools/book/requirements.in tools/fleet/requirements.in tests/containers/requirements.in

for list; do
    without=
    case $list in
    # axe-playwright-python brings axe-core; Selenium speaks to the browser.
    tests/requirements.in) without="playwright greenlet" ;;
    tools/fleet/*) without="cryptography cffi pycparser resolvelib" ;;
    tests/containers/*) without="pyyaml" ;;
    esac
    # shellcheck disable=SC2046,SC2086  # several words
    CUSTOM_COMPILE_COMMAND="scripts/pin_requirements.sh" $venv/bin/pip-compile \
        --quiet --generate-hashes --strip-extras ${UPGRADE:+--upgrade} \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
        $(printf -- '--unsafe-package=%s ' $without) "$list"
    sed -i '/^# WARNING:/,/^# satisfied/c # Not installed: scripts/pin_requirements.sh says why.' \
        "${list%.in}.txt"
done
