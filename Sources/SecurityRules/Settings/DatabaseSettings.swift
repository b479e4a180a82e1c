/// The work of a database in addition to the rules (docs/using/additions.md): read from a file in the form of the
/// rules, so that the rules file itself stays one that Firebase accepts. Immutable.
package struct DatabaseSettings: Hashable, Sendable {
    /// The file as given, including comments; empty if there is none.
    package let file: [UInt8]
    /// Values that no two children of a collection may share, in the order of the file.
    package let uniques: [IndexDefinition]
    /// Indexes of several values, in the order of the file.
    package let indexes: [IndexDefinition]
    /// Counts and sums that the server keeps, in the order of the file.
    package let counters: [CounterDefinition]
    /// How many children collections may have, in the order of the file.
    package let childLimits: [ChildLimit]
    /// When children expire, in the order of the file.
    package let expiries: [ExpiryDefinition]
    /// How often clients may do something, in the order of the file.
    package let rateLimits: [RateLimit]
    /// Queues of jobs, in the order of the file.
    package let queues: [QueueDefinition]
    /// Whom the server tells of changes, in the order of the file.
    package let triggers: [TriggerDefinition]
    /// Where the past is kept, in the order of the file.
    package let histories: [HistoryDefinition]

    /// Nothing is switched on.
    package init() {
        file = []
        uniques = []
        indexes = []
        counters = []
        childLimits = []
        expiries = []
        rateLimits = []
        queues = []
        triggers = []
        histories = []
    }

    /// Reads a settings file. All or nothing: one mistake refuses the file.
    package init(parsing file: [UInt8]) throws(RulesError) {
        do throws(Mistake) {
            var parser = SettingsParser(file)
            try parser.parse()
            self.file = file
            uniques = parser.uniques
            indexes = parser.indexes
            counters = parser.counters.map(\.definition)
            childLimits = parser.childLimits
            expiries = parser.expiries
            rateLimits = parser.rateLimits
            queues = parser.queues
            triggers = parser.triggers
            histories = parser.histories
        } catch {
            throw RulesError(error, in: file)
        }
    }

    package var isEmpty: Bool {
        uniques.isEmpty && indexes.isEmpty && counters.isEmpty && childLimits.isEmpty && expiries.isEmpty
            && rateLimits.isEmpty && queues.isEmpty && triggers.isEmpty && histories.isEmpty
    }

    /// A summary for people.
    package var summary: String {
        let sums = counters.count { $0.summed != nil }
        let counts = [
            (uniques.count, ".unique"), (indexes.count, ".index"), (counters.count - sums, ".count"), (sums, ".sum"),
            (childLimits.count, ".maxChildren"),
            (expiries.count, ".expires"), (rateLimits.count, ".limit"), (queues.count, ".queue"),
            (triggers.count, ".trigger"), (histories.count, ".history"),
        ]
        let parts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return parts.isEmpty ? "nothing set" : parts.joined(separator: ", ")
    }

    /// Whether a file says by its first key that it holds settings, not rules.
    package static func isSettings(_ file: [UInt8]) -> Bool {
        var reader = RulesReader(file)
        do throws(Mistake) {
            try reader.expect(UInt8(ascii: "{"))
            return try reader.string().utf8.elementsEqual("settings".utf8)
        } catch {
            return false
        }
    }
}
