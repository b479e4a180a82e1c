import HearthRealtimeDatabase
import HearthStorageErrors

/// Large writes: each is examined, read, judged and prepared in steps before its turn.
extension DatabaseScheduler {
    /// Large requests come one at a time, and wait for the applier and until memory is looked through; meanwhile small
    /// ones go on.
    var mayRunLarge: Bool {
        guard case .none = largeWrite else { return false }
        guard admission.hasLarge(orLong: admission.hasLong && mayBeginLong) else { return false }
        let rows = database.rows
        guard rows.canAttach, rows.trimBacklog < Self.trimBacklogMax else { return false }
        if !applying.isWriting, !clearing.isUnderWay { return true }
        return database.unappliedBytes < limits.changedBytesBulk && rows.residentBytes < 4 * limits.residentBytesMax
    }

    mutating func runLarge() {
        switch largeWrite {
        case .ready(let request): runPrepared(request)
        case .final(let request): runTurn(ofLarge: request)
        case .none, .examining, .reading, .resolving, .deciding, .preparing, .storing:
            guard mayRunLarge, let request = admission.beginLarge(orLong: mayBeginLong) else { return }
            if database.ownerWait(of: request) == .mustWait || database.holds(request) {
                return admission.blockBegun()
            }
            begin(request)
        }
    }

    private mutating func runPrepared(_ request: Request) {
        if mustWaitToAttach(request) { return }
        // The data may have changed since they were read.
        if mustReadAgain(request) || database.mustBeAllowed(request) && !database.hasFirstDecision(on: request) {
            return beginAnew(request)
        }
        // Children that could come as text when the write was begun may be asked for one by one now.
        if !database.mayForward(request), database.mustExamine(request) { return begin(request) }
        if mustDecide(request, isLast: true) { return largeWrite = .deciding(request) }
        if !setAside(request) { runTurn(ofLarge: request) }
    }

    private mutating func runTurn(ofLarge request: Request) {
        let sequence = database.sequence
        let start = nanoseconds()
        // Its turn may have no room for it, or the data may change before it: then it stays first in its line, and
        // keeps its parts.
        let (count, waiting) = process([request])
        guard count == 1 else { return }
        if takesLongTurn(request), waiting.isEmpty {
            let end = nanoseconds()
            longTurns.ended(at: end, after: end - start)
        }
        if waiting.isEmpty { admission.takeBegun(gate) } else { admission.blockBegun() }
        endLarge()
        if request.isPrepared, database.sequence == sequence { emit(.dropParts) }
    }

    /// Begins with a large write. The node that takes the writes does so.
    private mutating func begin(_ request: Request) {
        guard !database.mayForward(request), database.mustExamine(request) else { return goOn(request) }
        largeWrite = .examining(serial: largeWritesMade + 1)
        prepare(request, database.preparation(.examining, now: now))
    }

    /// Begins with a large write again, as it was sent: the data read for it have changed. That is not done for ever.
    private mutating func beginAnew(_ request: Request) {
        if request.isPrepared { emit(.dropParts) }
        let original = request.original
        switch database.restart(request) {
        case .anew: begin(original)
        case .inOneStep: doInOneStep(original)
        case .denied: largeWrite = .final(request)
        }
    }

    private mutating func doInOneStep(_ original: Request) {
        database.forgetPreparation()
        largeWrite = .final(original)
    }

    private mutating func prepare(_ request: Request, _ preparation: RowPreparation) {
        largeWritesMade += 1
        emit(.prepare(request, preparation, serial: largeWritesMade))
    }

    /// All that the write needs is known.
    private mutating func goOn(_ request: Request) {
        if database.mustBeAllowed(request) { return decideFirst(on: request) }
        if mustReadAgain(request) { return beginAnew(request) }
        if mustDecide(request) { largeWrite = .deciding(request) } else { makeRows(of: request) }
    }

    private mutating func decideFirst(on request: Request) {
        switch database.decideFirst(on: request, now: now) {
        case .begun: largeWrite = .deciding(request)
        case .current: makeRows(of: request)
        case .outdated: beginAnew(request)
        }
    }

    /// The large write has had its turn, or gets none: those who wait for that go on.
    mutating func endLarge() {
        largeWrite = .none
        if database.endPendingWrite() { admission.goOnWaiting() }
    }

    /// Gives up what was done for the large write, which is begun again or refused.
    mutating func abandonLarge() {
        if case .ready(let request) = largeWrite, request.isPrepared { emit(.dropParts) }
        endLarge()
    }

    private func mustReadAgain(_ request: Request) -> Bool {
        !database.mayForward(request) && !database.isTooMuch(request) && !database.hasCurrentBases(request)
    }

    /// Whether the rules have to be asked now.
    private func mustDecide(_ request: Request, isLast: Bool = false) -> Bool {
        if database.mayForward(request) || database.isTooMuch(request) { return false }
        let isLast = isLast || request.isPrepared || !database.preparation.isWorthIt(for: request)
        return database.beginDecision(on: request, isLast: isLast, now: now)
    }

    var mayDecide: Bool {
        switch largeWrite {
        case .reading, .deciding: !recovery.isUnderWay
        case .none, .examining, .resolving, .preparing, .storing, .ready, .final: false
        }
    }

    /// A step of reading the data that the write needs, or of asking the rules.
    mutating func decide() {
        guard mayDecide else { return }
        let start = nanoseconds()
        let end = start + limits.stepNanosecondsMax
        let mayGoOn = { [nanoseconds] in nanoseconds() < end }
        switch largeWrite {
        case .reading(let request):
            let outcome = Result { () throws(StorageError) in try database.readSome(while: mayGoOn) }
            admission.charge(request, nanoseconds: nanoseconds() - start)
            endReading(request, outcome)
        case .deciding(let request):
            let isDone = database.decideSome(while: mayGoOn)
            admission.charge(request, nanoseconds: nanoseconds() - start)
            if isDone { goOn(request) }
        case .none, .examining, .resolving, .preparing, .storing, .ready, .final: break
        }
    }

    private mutating func endReading(_ request: Request, _ outcome: Result<Bool, StorageError>) {
        switch outcome {
        case .success(false): break
        // Its turn meets the same error, and answers with it.
        case .failure: doInOneStep(request.original)
        case .success(true):
            guard let known = database.knowingBases(request) else { return beginAnew(request) }
            guard request.examined?.increments.isEmpty == false else { return goOn(request) }
            largeWrite = .resolving(serial: largeWritesMade + 1)
            prepare(known, database.preparation(.resolving, now: now))
        }
    }

    /// Has the rows of the value made, if that takes long and it will be written.
    private mutating func makeRows(of request: Request) {
        let preparation = database.preparation
        guard preparation.isWorthIt(for: request), !request.isPrepared, !database.isDecisionDenied,
            !database.isTooMuch(request), !database.mayForward(request)
        else { return largeWrite = .ready(request) }
        largeWrite = .preparing(serial: largeWritesMade + 1)
        prepare(request, preparation)
    }

    mutating func prepared(_ request: Request, _ serial: UInt64) {
        switch largeWrite {
        case .examining(serial):
            if setAside(request) { return }
            if !database.isTooMuch(request), database.beginReading(for: request) {
                largeWrite = .reading(request)
            } else {
                goOn(request)
            }
        case .resolving(serial): goOn(request)
        case .preparing(serial): rowsMade(request, serial)
        // It has been refused meanwhile.
        case .none, .examining, .reading, .resolving, .deciding, .preparing, .storing, .ready, .final: break
        }
    }

    // MARK: Long turns

    /// What other nodes forward is not kept apart, as they would send no more meanwhile
    /// (``ForwardedWrites/sentBytesMax``).
    private func takesLongTurn(_ request: Request) -> Bool {
        !request.principal.isAdministrator && !request.connection.isForwarded && !database.isTooMuch(request)
            && database.setsRowsOneByOne(request, moreThan: limits.rowsOfShortTurnMax)
    }

    /// Whether a long turn may begin. Writes that are refused or forwarded wait for nothing.
    private var mayBeginLong: Bool {
        life != .serving || database.refusal != nil || database.ownedElsewhere != nil
            || longTurns.mayBegin(at: nanoseconds())
    }

    /// Puts a write back that has to wait for a long turn.
    private mutating func setAside(_ request: Request) -> Bool {
        guard takesLongTurn(request), admission.setAsideBegun(isTooEarly: !mayBeginLong) else { return false }
        abandonLarge()
        return true
    }

    private mutating func rowsMade(_ request: Request, _ serial: UInt64) {
        if let text = request.textToStore {
            largeWrite = .storing(request, serial: serial)
            emit(.storePart(TextParts(text), serial: serial))
        } else {
            largeWrite = .ready(request)
        }
    }

    mutating func stored(_ parts: TextParts, _ serial: UInt64, _ failure: CommitFailure?) {
        guard case .storing(let request, serial) = largeWrite else {
            // Another write that is being stored has begun parts of its own.
            if case .storing = largeWrite { return }
            return emit(.dropParts)
        }
        if let text = parts.stored {
            largeWrite = .ready(request.storing(text))
        } else if failure != nil || database.refusal != nil {
            // Its turn will find out why.
            emit(.dropParts)
            largeWrite = .ready(request)
        } else {
            emit(.storePart(parts, serial: serial))
        }
    }

    /// Whether a large write waits for the store. A server that ends, or whose store takes nothing, does without that.
    func mustWaitToAttach(_ request: Request) -> Bool {
        life == .serving && database.refusal == nil && !database.mayForward(request)
            && database.mustWaitToAttach(request)
    }
}
