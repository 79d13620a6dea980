"""``python -m hotlink``: the command."""

from hotlink.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
