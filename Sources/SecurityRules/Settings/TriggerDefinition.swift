import HearthBytes
import HearthJSONTree

/// Whom the server tells of changes at the places of a pattern (docs/using/triggers.md).
package struct TriggerDefinition: Hashable, Sendable {
    /// The kind of change of a place.
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        case created, updated, deleted
        /// Any of these.
        case written

        /// Whether a trigger of this kind matches a change; nil means no value.
        package func includes(before: Bool, after: Bool) -> Bool {
            switch self {
            case .created: !before && after
            case .updated: before && after
            case .deleted: before && !after
            case .written: true
            }
        }
    }

    package enum Target: Hashable, Sendable {
        case url(String)
        /// The name of a program in the folder of such commands.
        case command(String)
    }

    /// Tells the triggers of a database apart. 1 to ``nameLengthMax`` letters, digits, `-` and `_`.
    package var name: String
    package var pattern: IndexPattern
    package var kind: Kind
    /// Which changes are meant; nil for all.
    package var filter: TriggerFilter?
    package var target: Target
    /// The keys of the signatures, the newest first.
    package var secrets: [[UInt8]]
    /// Whether the attributes of an event are headers, or in the body with its data.
    package var isBinary: Bool
    /// Events that are under way at a time.
    package var concurrency: Int
    /// For how long an event is tried, in milliseconds.
    package var retryTime: Int64

    package init(
        name: String, pattern: IndexPattern, kind: Kind, filter: TriggerFilter? = nil, target: Target,
        secrets: [[UInt8]] = [], isBinary: Bool = false, concurrency: Int = 8, retryTime: Int64 = 3 * 86_400_000
    ) {
        (self.name, self.pattern, self.kind, self.filter, self.target) = (name, pattern, kind, filter, target)
        (self.secrets, self.isBinary, self.concurrency, self.retryTime) = (secrets, isBinary, concurrency, retryTime)
    }

    package static let nameLengthMax = 64
    package static let concurrencyMax = 64
    package static let retryTimeMax: Int64 = 30 * 86_400_000

    package static func isValidName(_ name: String) -> Bool {
        (1...nameLengthMax).contains(name.utf8.count) && name.utf8.allSatisfy(isNameByte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

/// An expression in the language of the rules that decides which changes a trigger is about. It is compiled as a
/// `.write` of the trigger's places.
package struct TriggerFilter: Hashable, Sendable {
    let expression: RulesReader.Text
    let pattern: IndexPattern
    /// The names of the pattern's wildcards.
    let wildcards: [[UInt8]]
    let code: Code
    /// The instruction that decides.
    let root: Int

    package static func == (a: TriggerFilter, b: TriggerFilter) -> Bool {
        a.expression.utf8 == b.expression.utf8 && a.wildcards == b.wildcards
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(expression.utf8)
        hasher.combine(wildcards)
    }
}

extension TriggerDefinition {
    /// The target, for administrators.
    package var targetText: String {
        switch target {
        case .url(let url): url
        case .command(let name): "command \(name)"
        }
    }
}
