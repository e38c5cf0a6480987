# A command-line tool that does as the message says, mostly what no tool should.
read -r what rest
case $what in
echo) echo "$rest" ;;
flood) yes "all work and no play makes this a long, long line of text; it comes again and again" ;;
line) head -c 1073741824 /dev/zero | tr '\0' x ;;
closes) exec >&- 2>&-; sleep 3600 ;;
leaves) sleep 3600 & echo left ;;
forks) sleep 3600 & echo here; sleep 3600 ;;
stubborn) trap '' TERM; sleep 3600 & echo here; while :; do sleep 1; done ;;
esac
