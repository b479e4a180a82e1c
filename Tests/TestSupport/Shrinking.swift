/// The smallest list that still fails, found by leaving out ever smaller pieces (delta debugging). `fails` must be
/// deterministic and true for `steps` itself.
package func shrunk<Step>(_ steps: [Step], while fails: ([Step]) -> Bool) -> [Step] {
    var steps = steps
    var size = max(steps.count / 2, 1)
    while true {
        var start = 0
        var hasShrunk = false
        while start < steps.count {
            var fewer = steps
            fewer.removeSubrange(start..<min(start + size, steps.count))
            if fails(fewer) {
                steps = fewer
                hasShrunk = true
            } else {
                start += size
            }
        }
        if size > 1 {
            size /= 2
        } else if !hasShrunk {
            return steps
        }
    }
}
