"""``python -m inferfab.cli``"""

from inferfab.cli.main import main

main()
