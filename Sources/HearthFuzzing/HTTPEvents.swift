import HearthHTTPCodec

/// Small, so that a fuzzer reaches them.
let fuzzedLimits = HTTPLimits(headBytesMax: 512, headerCountMax: 8, bodyBytesMax: 256)

/// Records the events of a decoder; adjoining body pieces are joined.
struct HTTPRecorder {
    private var body: [UInt8] = []

    mutating func add<Head>(
        _ event: HTTPEvent<Head>, to transcript: inout Transcript, head record: (Head, inout Transcript) -> Void
    ) {
        if case .body(let piece) = event {
            precondition(!piece.isEmpty, "an empty piece of body")
            body.append(contentsOf: piece)
            return
        }
        finish(&transcript)
        switch event {
        case .head(let head): record(head, &transcript)
        case .end: transcript.add("end")
        case .failure(let failure): transcript.add("\(failure)")
        case .body: break
        }
    }

    /// To be called after the last event.
    mutating func finish(_ transcript: inout Transcript) {
        if !body.isEmpty { transcript.add(body) }
        body = []
    }
}

extension Transcript {
    mutating func add(_ headers: HeaderFields) {
        for field in headers {
            precondition(field.value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, "a control byte")
            add(field.name)
            add(field.value)
        }
    }
}
