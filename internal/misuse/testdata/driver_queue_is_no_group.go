// A broker with a queue alone has no groups, and the word for what it can do is no word for another ability.
package misuse

import "github.com/wherryhq/wherry/driver"

func group(driver.Grouper) {}

func use(b driver.Queuer) {
	group(b) // want "driver.Queuer does not implement driver.Grouper" "missing method OpenGroup"
}
