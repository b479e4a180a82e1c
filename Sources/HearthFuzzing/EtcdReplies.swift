import HearthEtcdMessages
import HearthReplicatedLog
import HearthRealtimeDatabase

/// Replies of etcd, and values of its keys, which other nodes and operators write. The first byte gives the call of
/// the reply, whose message follows: `r`ange, `t`ransaction, `u`nconditional one, `p`ut, lease `g`ranted, `k`ept or
/// revo`x`ed, `s`tatus, `m`embers, `c`ompaction. `w` stands for the stream of a watch, in which each message has its
/// prefix; any other byte for the value of a key. Values read and written again are the same.
public func fuzzEtcdReplies(_ bytes: UnsafeRawBufferPointer) {
    guard let kind = bytes.first else { return }
    let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    let body = [UInt8](rest)
    let key = Array("/hearth/1/db/a/head".utf8)
    let range = EtcdRange(.key(key))
    switch kind {
    case UInt8(ascii: "r"): if let reply = read(range, body) { reply.values.forEach(readValue) }
    case UInt8(ascii: "t"):
        let operations: [EtcdTransaction.Operation] = [
            .put(key: key, value: [1]), .delete(.key(key)), .range(range),
        ]
        let transaction = EtcdTransaction(
            if: [.init(key, .equal, .createRevision(0))], then: operations, else: [.range(range)], isRepeatable: false)
        guard let reply = read(transaction, body) else { return }
        precondition(reply.results.count == (reply.hasSucceeded ? 3 : 1), "results without operations")
        for index in reply.results.indices { reply.values(index).forEach(readValue) }
    case UInt8(ascii: "u"):
        let transaction = EtcdTransaction(then: [.range(range)], isRepeatable: true)
        if let reply = read(transaction, body) { reply.values(0).forEach(readValue) }
    case UInt8(ascii: "p"): _ = read(EtcdPut(key: key, value: [1]), body)
    case UInt8(ascii: "g"): _ = read(EtcdGrantLease(7, seconds: 3), body)
    case UInt8(ascii: "k"): _ = read(EtcdKeepLeaseAlive(7), body)
    case UInt8(ascii: "x"): _ = read(EtcdRevokeLease(7), body)
    case UInt8(ascii: "s"): _ = read(EtcdStatus(), body)
    case UInt8(ascii: "m"): _ = read(EtcdMemberList(), body)
    case UInt8(ascii: "c"): _ = read(EtcdCompact(5), body)
    case UInt8(ascii: "w"): watch(rest)
    default: readStored(body)
    }
}

private func read<Call: EtcdCall>(_ call: Call, _ body: [UInt8]) -> Call.Reply? {
    try? call.reply(body).reply
}

/// The messages of a watch: the same events however their bytes are split, in the order of revisions, none twice.
private func watch(_ bytes: UnsafeRawBufferPointer) {
    expectSameTranscript { feeding, transcript in
        var messages = GRPCMessages.Decoder(bytesMax: 1 << 10)
        var decoder = EtcdWatchDecoder(EtcdWatch(.prefix(Array("/".utf8)), from: 5), bytesMax: 1 << 10)
        var isOver = false
        var last: Int64 = 4
        feeding.feed(bytes) { piece in
            if isOver { return }
            messages.feed(piece)
            do throws(EtcdError) {
                while let message = try messages.next() {
                    guard let event = try decoder.read(message) else { continue }
                    transcript.add("\(event)")
                    guard case .changes(let changes) = event else { continue }
                    precondition(!changes.isEmpty && changes[0].revision > last, "changes come twice")
                    last = changes[changes.count - 1].revision
                    precondition(decoder.next > last, "changes would come twice")
                }
            } catch {
                isOver = true
                transcript.add("\(error)")
            }
        }
        transcript.add("\(isOver)")
    }
}

private func readValue(_ value: EtcdKeyValue) { readStored(value.value) }

private func readStored(_ bytes: [UInt8]) {
    if let head = LogHead(bytes) { precondition(head.bytes == bytes, "a written head is another") }
    if let owner = OwnerRecord(bytes) { precondition(owner.bytes == bytes, "a written owner is another") }
    if let request = MoveRequest(bytes) { precondition(request.bytes == bytes, "a written move is another") }
    if let node = NodeRecord(bytes) { precondition(NodeRecord(node.bytes) == node, "a written node is another") }
    guard let batch = LogBatch(bytes) else { return }
    precondition(batch.bytes == bytes, "a written batch is another")
    readRecords(of: batch, bytes)
}

/// Where a batch has its checksum and its form.
private let (checksumBytes, formByte) = (49..<57, 57)

/// The records, as they are in the value and as the one part of a batch, also with the checksum that they should have,
/// which a fuzzer does not find.
private func readRecords(of batch: LogBatch, _ bytes: [UInt8]) {
    // The parts of others are other values.
    guard case .whole(let content) = batch.content else { return readRecords(of: batch, bytes, parts: bytes) }
    readRecords(of: batch, bytes, parts: [])
    var inParts = Array(bytes.dropLast(content.count))
    inParts[formByte] += 1
    inParts += [0, 0, 0, 1]
    guard let batch = LogBatch(inParts) else { preconditionFailure("a batch in parts is not one") }
    readRecords(of: batch, inParts, parts: content)
}

private func readRecords(of batch: LogBatch, _ bytes: [UInt8], parts: [UInt8]) {
    guard let encoded = batch.encodedRecords(parts: parts) else { return }
    var corrected = bytes
    let checksum = encoded.withUnsafeBytes(LogRecord.checksum(ofPart:))
    withUnsafeBytes(of: checksum.bigEndian) { corrected.replaceSubrange(checksumBytes, with: $0) }
    for batch in [batch, LogBatch(corrected)] {
        guard let batch, let records = batch.records(parts: parts) else { continue }
        precondition(records.last?.lastSequence == batch.lastSequence, "a batch ends elsewhere")
        for record in records { readOperations(of: record) }
    }
}

/// The changes, as far as they can be read.
private func readOperations(of record: LogRecord) {
    guard let operations = try? record.operations() else { return }
    precondition(operations.count == record.count, "operations are miscounted")
    for (index, operation) in operations.enumerated() {
        precondition(operation.sequence == record.firstSequence + UInt64(index), "a number is left out")
    }
}
