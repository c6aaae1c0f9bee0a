#!/usr/bin/env bash
# What action.yml runs: one `inferfab review` with everything that was asked for. Inputs come through the environment.
set -euo pipefail

# What an earlier run left would be taken for this one's verdict.
rm -f "$ARTIFACTS"/review.md "$ARTIFACTS"/review.html "$ARTIFACTS"/review.json "$ARTIFACTS"/review.sarif
shopt -s globstar
words=(review --artifacts "$ARTIFACTS" --out "$ARTIFACTS/review.md")
while IFS= read -r one; do
  one="${one#"${one%%[![:space:]]*}"}"
  one="${one%"${one##*[![:space:]]}"}"
  [[ -z "$one" ]] || words+=(--env "$one")
done < <(tr ',' '\n' <<<"${ENVIRONMENTS:-}")
asked="${ENVIRONMENTS:-}"
# What the pull request is merged into. The event's own commit may be older than the merge that was checked out, and
# what the branch gained in between is not this change's doing.
if [[ -z "${BASE:-}" && "${GITHUB_REF:-}" == refs/pull/*/merge ]] && git rev-parse --quiet --verify 'HEAD^2' >/dev/null; then
  BASE='HEAD^1'
fi
BASE="${BASE:-${EVENT_BASE:-}}"
if [[ -n "${asked//[[:space:]]/}" && -n "${BASE:-}" ]]; then
  words+=(--base "$BASE")
fi
while IFS= read -r one; do
  [[ -z "$one" ]] || words+=(--label "$one")
done < <("${INFERFAB%/*}/python" - <<'PYTHON'
import json, os
for label in json.loads(os.environ.get("LABELS") or "null") or []:
    print(" ".join(label.split("\n")))
PYTHON
)
[[ -z "${CHECKOV:-}" ]] || words+=(--checkov "$CHECKOV")
[[ -z "${CHECKOV_BASE:-}" ]] || words+=(--checkov-base "$CHECKOV_BASE")
[[ -z "${CONSTRUCTS:-}" ]] || words+=(--constructs "$CONSTRUCTS")
[[ -z "${REVISION:-}" ]] || words+=(--revision "$REVISION")
[[ -z "${GITHUB_STEP_SUMMARY:-}" ]] || words+=(--summary "$GITHUB_STEP_SUMMARY")
if [[ -n "${NUMBER:-}" ]]; then
  words+=(--comment "$NUMBER")
  [[ -z "${AT:-}" ]] || words+=(--at "$AT")
  [[ -z "${AUTHOR:-}" ]] || words+=(--comment-author "$AUTHOR")
fi
plans=()
while IFS= read -r one; do
  [[ -n "$one" ]] || continue
  found=()
  # A glob that fits nothing stays as it is, so that the review says which plan is missing.
  mapfile -t found < <({ compgen -G "$one" || printf '%s\n' "$one"; } | sort)
  plans+=("${found[@]}")
done <<<"${PLANS:-}"

code=0
"$INFERFAB" "${words[@]}" -- "${plans[@]}" || code=$?
verdict=$(sed -n 's/^## [^A-Z]*\([A-Z]*\):.*/\1/p' "$ARTIFACTS/review.md" 2>/dev/null | head -n 1) || true
{
  echo "exit-code=$code"
  echo "verdict=$verdict"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"
