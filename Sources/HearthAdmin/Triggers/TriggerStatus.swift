import HearthJSONValues

/// A trigger of a database, and the state of its events.
public struct TriggerStatus: Hashable, Sendable {
    /// The name in the settings.
    public let name: String
    /// The changes that it reports: `created`, `updated`, `deleted` or `written`.
    public let kind: String
    /// The pattern of its places, with `$` for any key: `/rooms/$`.
    public let path: String
    /// The URL or the program that receives its events.
    public let target: String
    /// The number of events that are not taken yet, without those that were set aside.
    public let waiting: Int
    /// How many of these are being sent.
    public let underWay: Int
    /// The number of events that were set aside.
    public let setAside: Int
    /// The number of events that were taken since the server started.
    public let delivered: Int
    /// The number of failed attempts since the server started.
    public let failures: Int
    /// Whether the receiver counts as down, so that one event at a time is tried.
    public let isDown: Bool
    /// The reason of the last failed attempt; nil if none has failed.
    public let lastFailure: String?

    init?(_ object: JSONObject) {
        func count(_ name: String) -> Int { Int(clamping: object[name]?.integer ?? 0) }
        guard let name = object["name"]?.text, let path = object["path"]?.text else { return nil }
        (self.name, self.path) = (name, path)
        kind = object["on"]?.text ?? ""
        target = object["target"]?.text ?? ""
        (waiting, underWay, setAside) = (count("waiting"), count("underWay"), count("aside"))
        (delivered, failures) = (count("delivered"), count("failures"))
        isDown = object["isDown"] == .bool(true)
        lastFailure = object["lastFailure"]?.text
    }
}

/// An event that its receiver did not take for as long as the trigger's `retry` says.
public struct SetAsideEvent: Hashable, Sendable, Identifiable {
    /// The `id` of the event, for the receiver as well.
    public let id: String
    /// The name of its trigger.
    public let trigger: String
    /// The change that it reports: `created`, `updated`, `deleted` or `written`.
    public let kind: String
    /// The place that changed.
    public let path: String
    /// The time of the change, in milliseconds since 1970.
    public let time: Int64
    /// Why the last attempt failed.
    public let failure: String?
    /// Whether it can be sent again: false if its values were too large or too many to be kept.
    public let isReplayable: Bool

    init?(_ object: JSONObject) {
        guard let id = object["id"]?.text, let trigger = object["trigger"]?.text else { return nil }
        (self.id, self.trigger) = (id, trigger)
        kind = object["type"]?.text ?? ""
        path = object["path"]?.text ?? ""
        time = object["time"]?.integer ?? 0
        failure = object["failure"]?.text
        isReplayable = object["whole"] == .bool(true)
    }
}
