/// Which triggers may begin attempts, while there is no room for those of all: they take turns.
struct TriggerTurns {
    struct Place: Hashable, Comparable {
        var database: UInt32
        var trigger: String

        static func < (a: Place, b: Place) -> Bool { (a.database, a.trigger) < (b.database, b.trigger) }
    }

    /// The last one that has begun an attempt.
    private var last: Place?

    /// Has triggers begin attempts, one each and then again from the first one on. The first is the one after the last
    /// that began one.
    ///
    /// - parameter hasRoom: whether there is room for another attempt.
    /// - parameter begin: begins one; false if the trigger has none to begin now.
    mutating func deal(_ places: [Place], while hasRoom: () -> Bool, to begin: (Place) -> Bool) {
        let places = places.sorted()
        let start = last.flatMap { last in places.firstIndex { $0 > last } } ?? 0
        var waiting = Array(places[start...] + places[..<start])
        while !waiting.isEmpty, hasRoom() {
            waiting = waiting.filter { place in
                guard hasRoom(), begin(place) else { return false }
                last = place
                return true
            }
        }
    }
}
