import HearthJSONTree
import HearthSecurityRules

/// A settings file. Accepted settings can be described, and used with rules without a trap; they read the same again.
public func fuzzSettingsFiles(_ bytes: UnsafeRawBufferPointer) {
    guard let settings = try? DatabaseSettings(parsing: [UInt8](bytes)) else { return }
    guard let copy = try? DatabaseSettings(parsing: settings.file) else {
        preconditionFailure("settings that were accepted are refused")
    }
    precondition(copy == settings && settings.isEmpty == (settings.summary == "nothing set"), "other settings")
    guard let program = try? RulesProgram(parsing: Array(#"{"rules":{".read":true,".write":true}}"#.utf8)) else {
        return
    }
    precondition(program.with(settings).settings == settings, "settings get lost")
    guard let data = try? CanonicalJSON.parse(Array(#"{"a":{"b":{"c":5,"d":"t"},"e":-1},"f":true}"#.utf8)).value
    else { return }
    for expiry in settings.expiries {
        for child in data.children { _ = expiry.time(of: data, in: child.value) }
    }
    let tree = MemoryTree(data)
    for queue in settings.queues {
        precondition((1...QueueDefinition.largestAttempts).contains(queue.attempts), "attempts out of range")
        for attempts in [1, 2, 60, queue.attempts] {
            precondition(queue.delay(afterAttempts: attempts, seed: UInt64(bytes.count)) >= 0, "a pause before now")
        }
        for child in data.children {
            _ = try? queue.due(of: Path([child.key]).encoded, at: Path.root, in: tree)
        }
    }
}
