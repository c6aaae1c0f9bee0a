"""``python -m inferfab.cli``, where no ``inferfab`` script is installed."""

from inferfab.cli.main import main

if __name__ == "__main__":
    main()
