# An agent of JSON lines that does as the message says, mostly what no agent should.
say() { printf '{"type":"%s","payload":{"turnId":"%s"%s}}\n' "$1" "$task" "$2"; }
long=$(seq -s ' ' 1 500)
read -r hello
echo '{"type":"agent.hello","payload":{"protocol":1}}'
while read -r line; do
	case $line in *'"type":"io.input"'*) ;; *) continue ;; esac
	task=${line#*'"taskId":"'} && task=${task%%'"'*}
	text=${line#*'"text":"'} && text=${text%%'"'*}
	say agent.turn.start ",\"taskId\":\"$task\""
	case $text in
	'echo '*) say io.output ",\"role\":\"assistant\",\"content\":\"${text#echo }\"" ;;
	flood) yes "$(say io.output.delta ",\"text\":\"$long\"")" ;;
	tools) seq -f "$(say tool.result ',"callId":"call %.0f","name":"tool","output":"all work and no play"')" 1 1000000000 ;;
	noise) yes 'this is not of the protocol' ;;
	line) printf '{"type":"'; head -c 1073741824 /dev/zero | tr '\0' x ;;
	closes) exec >&- 2>&-; sleep 3600 ;;
	leaves) sleep 3600 & say io.output ',"role":"assistant","content":"left"' ;;
	forks) sleep 3600 & say io.output.delta ',"text":"here"'; sleep 3600 ;;
	stubborn) trap '' TERM; sleep 3600 & say io.output.delta ',"text":"here"'; while :; do sleep 1; done ;;
	esac
	say agent.turn.end
done
