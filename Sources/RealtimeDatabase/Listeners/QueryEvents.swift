import HearthJSONTree
import HearthTreeQueries

/// The events of a commit for a query's listeners, from its selection before and after.
struct QueryEvents {
    /// As it is after the commit; keeps its order.
    let window: QueryWindow
    /// The selection, or at least the children that the difference names.
    private let before: Children
    private let after: Children
    /// Nil if all that is selected may be different.
    var difference: WindowDifference?

    init(window: QueryWindow, before: CanonicalJSON, after: CanonicalJSON, difference: WindowDifference? = nil) {
        self.window = window
        self.before = Children(before)
        self.after = Children(after)
        self.difference = difference
    }

    /// The children of an object, found by key: there may be as many events as children.
    private struct Children {
        let json: CanonicalJSON
        private var ranges: [[UInt8]: Range<Int>] = [:]

        init(_ json: CanonicalJSON) {
            self.json = json
            for child in json.children {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                ranges[segment] = child.value
            }
        }

        /// Null if there is none.
        subscript(segment: [UInt8]) -> CanonicalJSON { ranges[segment].map { json.part($0) } ?? .null }
    }

    /// What a new listener is told.
    func initial(_ kinds: EventKinds) -> [QueryEvent] {
        var events: [QueryEvent] = []
        if kinds.contains(.childAdded) {
            events = window.initialEvents.map { event($0) }
        }
        if kinds.contains(.value) { events.append(.value(window.query.chosen(ofChildren: after.json))) }
        return events
    }

    /// What a listener is told of the commit; nothing if nothing of it is different.
    func list(_ kinds: EventKinds) -> [QueryEvent] {
        var difference = difference ?? differenceOfValues
        // A child that was written as it was is not changed.
        difference.changed.removeAll { $0.before == $0.after && isSame($0.after.segment) }
        if difference.isEmpty { return [] }
        var events: [QueryEvent] = []
        for event in window.events(of: difference).inTellingOrder where kinds.contains(event.kind.flag) {
            events.append(self.event(event))
        }
        if kinds.contains(.value) { events.append(.value(window.query.chosen(ofChildren: after.json))) }
        return events
    }

    private func event(_ event: ChildEvent) -> QueryEvent {
        let source = event.kind == .removed ? before : after
        return .child(
            event.kind, key: event.place.segment, value: window.query.chosen(of: source[event.place.segment]),
            previous: event.previous?.segment)
    }

    private func isSame(_ segment: [UInt8]) -> Bool {
        window.query.chosen(of: before[segment]) == window.query.chosen(of: after[segment])
    }

    /// Both values are whole: compares them child by child.
    private var differenceOfValues: WindowDifference {
        let index = window.query.index.named
        var old: [[UInt8]: IndexPlace] = [:]
        for child in before.json.children {
            let place = index.place(of: child, in: before.json)
            old[place.segment] = place
        }
        var difference = WindowDifference()
        for child in after.json.children {
            let place = index.place(of: child, in: after.json)
            if let before = old.removeValue(forKey: place.segment) {
                difference.changed.append(.init(before: before, after: place))
            } else {
                difference.entered.append(place)
            }
        }
        difference.left = old.values.sorted()
        difference.entered.sort()
        difference.changed.sort { $0.after < $1.after }
        return difference
    }
}
