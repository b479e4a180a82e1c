package import HearthJSONTree

/// The rules of a database, read, checked and compiled (docs/rules.md 1, 3, 3.3). Immutable: many may decide by it at
/// once, each with a ``RulesJudge`` of its own.
package final class RulesProgram: Sendable {
    /// The file as it was given, comments and all.
    package let file: [UInt8]
    /// The indexes of `.indexOn` (docs/rules.md 1), in the order of the file.
    package let indexes: [IndexDefinition]
    /// The settings, from a file of their own.
    package let settings: DatabaseSettings
    /// The first is the root.
    let places: [RulePlace]
    let rules: [Rule]
    let code: Code
    /// Everybody may do everything: the rules of the root say so, and there are no others.
    package let allowsEverything: Bool

    /// Reads a rules file. All or nothing: one mistake refuses the file.
    package init(parsing file: [UInt8]) throws(RulesError) {
        do throws(Mistake) {
            var parser = RulesParser(file)
            try parser.parse()
            self.file = file
            settings = DatabaseSettings()
            indexes = parser.indexes
            places = parser.places
            rules = parser.rules
            code = parser.code
            allowsEverything =
                rules.count == 2 && Set(rules.map(\.kind)) == [.read, .write]
                && rules.allSatisfy { $0.place == 0 && $0.text.elementsEqual("true".utf8) }
        } catch {
            throw RulesError(error, in: file)
        }
    }

    /// The expression of a filter as the `.write` of its places, the only rule.
    init(_ filter: TriggerFilter) {
        (file, indexes, settings) = ([], [], DatabaseSettings())
        var places = [RulePlace(name: [], parent: nil, depth: 0)]
        var names = filter.wildcards[...]
        for segment in filter.pattern.segments {
            let (parent, child) = (places.count - 1, places.count)
            let name = segment.map { Path(encoded: $0).lastKey?.utf8 ?? [] } ?? names.popFirst() ?? []
            places.append(RulePlace(name: name, parent: parent, depth: child))
            if let segment {
                places[parent].setChildren([(segment, child)])
            } else {
                places[parent].wildcard = child
            }
        }
        places[places.count - 1].write = 0
        rules = [
            Rule(
                kind: .write, place: places.count - 1, text: filter.expression.utf8, offsets: filter.expression.offsets,
                root: filter.root, instructions: 0..<filter.code.instructions.count)
        ]
        (self.places, code) = (places, filter.code)
        allowsEverything = false
    }

    private init(_ program: RulesProgram, _ settings: DatabaseSettings) {
        self.settings = settings
        (file, indexes, places) = (program.file, program.indexes, program.places)
        (rules, code, allowsEverything) = (program.rules, program.code, program.allowsEverything)
    }

    /// The same rules with these settings.
    package func with(_ settings: DatabaseSettings) -> RulesProgram {
        settings == self.settings ? self : RulesProgram(self, settings)
    }

    /// Everybody may do everything.
    package static let open: RulesProgram = {
        guard let program = try? RulesProgram(parsing: Array(#"{"rules":{".read":true,".write":true}}"#.utf8)) else {
            preconditionFailure("open rules are no rules file")
        }
        return program
    }()

    /// Whether the right to read at a path depends on data: if not, a listen need not be judged again when data
    /// changes.
    package func readDependsOnData(at path: Path) -> Bool {
        var place = 0
        var segments = path.segments
        while true {
            if let rule = rule(.read, at: place), looksAtData(rules[rule]) { return true }
            guard let segment = segments.next() else { return false }
            let next = path.encoded.withUnsafeBytes { child(of: place, $0.part(segment)) }
            guard let next else { return false }
            place = next
        }
    }

    // Deciding walks the places all the time: through the pointer nothing of them is copied.

    func child(of place: Int, _ segment: UnsafeRawBufferPointer) -> Int? {
        places.withUnsafeBufferPointer { $0[place].child(segment) }
    }

    /// The rule of a kind at a place.
    func rule(_ kind: RuleKind, at place: Int) -> Int? { places.withUnsafeBufferPointer { $0[place].rule(kind) } }

    func validatesBelow(_ place: Int) -> Bool { places.withUnsafeBufferPointer { $0[place].validatesBelow } }

    /// The instruction that decides a rule.
    func root(of rule: Int) -> Int { rules.withUnsafeBufferPointer { $0[rule].root } }

    private func looksAtData(_ rule: Rule) -> Bool {
        code.instructions[rule.instructions].contains { if case .snapshot = $0 { true } else { false } }
    }

    // MARK: Naming

    /// A summary for people.
    package var summary: String {
        func count(_ kind: RuleKind) -> String { "\(rules.count { $0.kind == kind }) \(kind.rawValue)" }
        return "\(count(.read)), \(count(.write)), \(count(.validate)), \(indexes.count) .indexOn"
    }

    /// The path of a place as the file spells it: `/rooms/$room`.
    func text(ofPlace place: Int) -> String {
        guard let parent = places[place].parent else { return "/" }
        let above = parent == 0 ? "" : text(ofPlace: parent)
        return above + "/" + String(decoding: places[place].name, as: UTF8.self)
    }

    /// The position in the file of a byte of a rule's text.
    func position(in rule: Rule, at offset: Int) -> RulePosition {
        RulePosition(of: Int(rule.offsets[min(offset, rule.offsets.count - 1)]), in: file)
    }

    func text(of instruction: Int, in rule: Rule) -> String {
        String(decoding: rule.text[code.spans[instruction]], as: UTF8.self)
    }
}
