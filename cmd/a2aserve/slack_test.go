package main

import "testing"

func TestSlackGivesWayToTheOperator(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "")
	}
	if n := len(slack()); n != slackBytes {
		t.Errorf("%d bytes where nothing is set", n)
	}
	for name, value := range map[string]string{"GOGC": "50", "GOMEMLIMIT": "1GiB"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if n := len(slack()); n != 0 {
				t.Errorf("%d bytes although %s is set", n, name)
			}
		})
	}
}
