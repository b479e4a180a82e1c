import HearthBytes
import HearthClusterNode
import HearthDatabaseHost
import HearthJSONTree
import HearthJSONWebTokens
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthServerLog
import HearthStorageErrors
import HearthSystem

/// The documents of the cluster as a node knows them. Used by one thread, which waits for the database.
final class DocumentTable: SharedDocuments.Table {
    typealias Text = DocumentTexts.Text

    private let database: ClusterDatabase
    private let cluster: ClusterNode
    private let fixed: [SharedDocument]
    private let rules: RulesInForce
    private let rulesChanged: @Sendable (String) -> Void
    private let log: Log
    private let isStopping: StopFlag

    /// Up to which operation the documents are known; nil before they were read.
    private var position: UInt64?
    /// Of the log at the position.
    private var epoch: UInt64 = 0
    /// This node confirms nothing while it has not taken over all rules and settings.
    private var texts = DocumentTexts()
    /// The operations that wrote them, where these are known.
    private var sequences: [String: UInt64] = [:]
    private var whenLoaded: (@Sendable () -> Void)?
    /// Why those were refused that this node could not take over, as the log has it.
    private var refusals: [String: String] = [:]
    private let bases: DocumentBases

    private static let patience = Duration.seconds(10)
    private static let pause = Duration.milliseconds(20)
    private static let root = ClusterDatabase.path("documents")

    /// - parameter fixed: the documents other than rules and settings.
    init(
        _ database: ClusterDatabase, _ cluster: ClusterNode, _ fixed: [SharedDocument], _ rules: RulesInForce,
        _ log: Log,
        isStopping: StopFlag, rulesChanged: @escaping @Sendable (_ database: String) -> Void
    ) {
        self.database = database
        self.cluster = cluster
        self.fixed = fixed
        bases = DocumentBases(folder: database.folderPath)
        self.rules = rules
        self.log = log
        self.isStopping = isStopping
        self.rulesChanged = rulesChanged
    }

    private func document(_ name: String) -> SharedDocument? {
        fixed.first { $0.name == name } ?? SharedDocument.rulesOrSettings(name, rules, changed: rulesChanged)
    }

    // MARK: Reading

    func begin(_ whenLoaded: @escaping @Sendable () -> Void) {
        self.whenLoaded = whenLoaded
        load()
    }

    /// Reads all documents. Without a node that takes writes it fails, and is tried again.
    private func load() {
        guard case .failed(.denied) = database.ask(ClusterDatabase.question, as: .nobody),
            let sequence = database.sequence(), let all = readAll()
        else { return }
        // They were read one after the other: the log says which of them changed meanwhile, and together.
        var texts = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.text) })
        let end = try? database.forEachOperation(after: sequence) { (operation) throws(StorageError) in
            for (name, text) in Self.documents(of: operation) { texts[name] = text }
        }
        guard let end else { return }
        take(texts.map { ($0.key, $0.value) }, end.sequence)
        (position, epoch) = (end.sequence, end.epoch)
        let own =
            rules.databasesWithOwn.map(SharedDocument.rulesName)
            + rules.databasesWithOwnSettings.map(SharedDocument.settingsName)
        for document in fixed + own.compactMap(document) where self.texts.newest[document.name] == nil {
            // The one that comes first counts.
            if let text = document.read() { _ = set(document, text, expecting: []) }
        }
        guard hasCaughtUp() else { return }
        confirm(position ?? end.sequence)
        whenLoaded?()
        whenLoaded = nil
    }

    /// One after the other, as each may be as long as an answer can be. Nil if they could not be read.
    private func readAll() -> [Text]? {
        var documents: [Text] = []
        var last: [UInt8]?
        while true {
            let start = last.map { QueryBound(CanonicalJSON(string: $0), isInclusive: false) }
            guard let query = try? Query(index: .key, start: start, limit: QueryLimit(.first, 1)),
                case .value(let page) = database.ask(.get(Self.root, query: query))
            else { return nil }
            guard let child = page.children.first(where: { _ in true }) else { return documents }
            last = child.key.utf8
            if let text = page.part(child.value).string {
                documents.append((String(decoding: child.key.utf8, as: UTF8.self), text))
            }
        }
    }

    /// Rules and settings up to an operation are in force. Nobody waits for other documents.
    private func confirm(_ sequence: UInt64) {
        let areInForce = texts.pending.joined().allSatisfy { name, _ in fixed.contains { $0.name == name } }
        if areInForce { cluster.confirm(sequence) }
    }

    func catchUp() { _ = hasCaughtUp() }

    /// Takes over the documents in the log of this node. False if it cannot be read.
    private func hasCaughtUp() -> Bool {
        guard let position else { return false }
        do throws(StorageError) {
            var confirmed: UInt64?
            let end = try database.forEachOperation(after: position, epoch: epoch) { (operation) throws(StorageError) in
                let documents = Self.documents(of: operation)
                if documents.isEmpty { return }
                take(documents, operation.sequence)
                confirmed = operation.sequence
            }
            (self.position, epoch) = (end?.sequence, end?.epoch ?? 0)
            if let confirmed { confirm(confirmed) }
            // A copy of another node's files has later commits alone.
            if end == nil { load() }
            return self.position != nil
        } catch {
            log.error("cluster.documents-unread", [("error", error.message)])
            return false
        }
    }

    /// Those that an operation has written.
    private static func documents(of operation: LoggedOperation) -> [Text] {
        operation.assignments.compactMap { assignment in
            guard let key = assignment.target.path.suffix(after: root)?.firstKey, let text = assignment.value.string
            else { return nil }
            return (String(decoding: key.utf8, as: UTF8.self), text)
        }
    }

    /// Takes over texts of one moment.
    private func take(_ found: [Text], _ sequence: UInt64) {
        for (name, _) in found { sequences[name] = sequence }
        texts.learn(found)
        takePending()
    }

    /// Takes over new documents, and those refused earlier. Rules and settings of a database are replaced in one step.
    private func takePending() {
        for group in texts.pending {
            do throws(SharedDocument.Failure) {
                if group.count == 2 { try take(rules: group[0], settings: group[1]) } else { try take(group[0]) }
                texts.take(group)
                for (name, _) in group {
                    refusals[name] = nil
                    log.info("cluster.document-taken", [("name", name)])
                }
            } catch {
                for (name, _) in group where refusals.updateValue(error.description, forKey: name) != error.description
                {
                    log.error("cluster.document-refused", [("name", name), ("error", error.description)])
                }
            }
        }
    }

    private func take(rules: Text, settings: Text) throws(SharedDocument.Failure) {
        guard let database = SharedDocument.database(ofRules: rules.name) else { return }
        let own = [self.rules.ownRules(of: database)?.file, self.rules.ownSettings(of: database)?.file]
        if own == [rules.text, settings.text] { return }
        try SharedDocument.adopt(rules: rules.text, settings: settings.text, of: database, self.rules)
        rulesChanged(database)
    }

    private func take(_ new: Text) throws(SharedDocument.Failure) {
        guard let document = document(new.name) else {
            return log.warning("cluster.document-unknown", [("name", new.name)])
        }
        var plain = try open(new.text, document)
        let own = document.read()
        if let own, let base = base(of: document), own != base {
            // It was changed here meanwhile; ``look()`` tells the others.
            plain = document.merge(base, own, plain)
        }
        if own != plain { try document.adopt(plain) }
        // Afterwards: a crash in between merges the same once more.
        if document.keepsBase { try bases.keep(new.text, of: new.name) }
    }

    /// The text that this node's was last made of; nil if that is not known.
    private func base(of document: SharedDocument) -> [UInt8]? {
        if let text = texts.taken[document.name] { return try? open(text, document) }
        return document.keepsBase ? bases.text(of: document.name) : nil
    }

    private func open(_ text: [UInt8], _ document: SharedDocument) throws(SharedDocument.Failure) -> [UInt8] {
        guard document.isSecret else { return text }
        guard let sealed = Base64.standard.decode(text), let plain = cluster.open(sealed: sealed) else {
            throw SharedDocument.Failure(description: "it was sealed with another --cluster-secret")
        }
        return plain
    }

    private func mustSealAgain(_ text: [UInt8], _ document: SharedDocument) -> Bool {
        document.isSecret && Base64.standard.decode(text).map { cluster.mustSealAgain($0) } ?? false
    }

    // MARK: Writing

    /// Looks whether a document was changed at this node, and tries again to take over those that were refused.
    func look() {
        guard let position else { return load() }
        if !texts.pending.isEmpty {
            takePending()
            confirm(position)
        }
        for document in fixed {
            guard let own = document.read() else { continue }
            guard let shared = texts.newest[document.name] else {
                _ = set(document, own, expecting: [])
                continue
            }
            // One that was refused is newer than this node's.
            guard texts.isTaken(document.name), let base = try? open(shared, document),
                base != own || mustSealAgain(shared, document)
            else { continue }
            _ = set(document, own, expecting: NodeHash.hash(CanonicalJSON(string: shared)))
        }
        catchUp()
    }

    private func set(_ document: SharedDocument, _ text: [UInt8], expecting hash: [UInt8]?) -> Reply {
        var text = text
        if document.isSecret {
            guard let sealed = cluster.seal(text) else {
                return .failed(.unavailable(.inputOutput("a document cannot be sealed")))
            }
            text = Base64.standard.encode(sealed)
        }
        let (target, value) = Self.entry(document.name, text)
        return database.ask(.set(target, value, expecting: hash))
    }

    private static func entry(_ name: String, _ text: [UInt8]) -> (target: WriteTarget, value: IncomingValue) {
        (
            WriteTarget(path: ClusterDatabase.path("documents/\(name)")),
            IncomingValue(json: CanonicalJSON(string: text))
        )
    }

    /// Puts rules and settings in force at all nodes that run, with one commit, and waits until they have confirmed
    /// that.
    func put(_ texts: [Text]) -> SharingFailure? {
        let deadline = MonotonicTime.current + Self.patience
        if let (name, _) = texts.first(where: { document($0.name) == nil }) {
            return .init(description: "there is no document '\(name)'")
        }
        // So that this node finds the commit in the log, with its sequence number.
        if position == nil { load() }
        let update = Operation.update(base: Self.root, texts.map { Self.entry($0.name, $0.text) })
        while true {
            switch database.ask(update) {
            case .failed(.unavailable(let error)):
                // It may be written or not; the same again does no harm.
                if isOver(deadline) { return .init(description: error.message) }
                continue
            case .failed(let failure): return .init(description: failure.message)
            default: break
            }
            break
        }
        // No node has, as far as is known.
        var missing = [cluster.name]
        repeat {
            if position == nil { load() }
            guard hasCaughtUp(), let sequence = texts.compactMap({ sequences[$0.name] }).max() else { continue }
            missing = cluster.unconfirmed(sequence) ?? missing
            if missing.isEmpty { return nil }
        } while !isOver(deadline)
        let names = missing.map { "'\($0)'" }.joined(separator: ", ")
        return .init(description: "it is written, but nodes have not confirmed that it is in force: \(names)")
    }

    private func isOver(_ deadline: MonotonicTime) -> Bool {
        _ = Semaphore().wait(atMost: Self.pause)
        return isStopping.isSet || MonotonicTime.current >= deadline
    }
}
