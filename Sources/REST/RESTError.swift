package import HearthDatabaseHost
package import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
package import HearthRealtimeDatabase
import HearthWireProtocol
package import HearthStorageErrors
package import HearthHTTPResponses
import HearthDelivery

/// Why a request is refused (rest.md 6), in Firebase's words where clients know them.
package struct RESTError: Error, Equatable {
    var status: HTTPStatus
    var text: String
    /// The methods that the place does have, for a 405.
    var allowed: StaticText?
    /// In development mode, why the rules have denied it.
    var denialReason: String?
    /// Milliseconds after which the same request may succeed.
    var retryAfter: Int64?

    package init(_ status: HTTPStatus, _ text: String) {
        self.status = status
        self.text = text
    }

    /// 400 Bad Request
    init(_ text: String) { self.init(.badRequest, text) }

    package var response: HTTPResponse {
        var response = HTTPResponse(status, error: text)
        if let denialReason {
            // A field is one line.
            let line = denialReason.utf8.map { $0 < 0x20 ? UInt8(ascii: " ") : $0 }
            response.headers.append(("X-Hearth-Denial", line))
            response.headers.append(("Access-Control-Expose-Headers", Array("X-Hearth-Denial".utf8)))
        }
        if let retryAfter {
            // Whole seconds, rounded up.
            response.headers.append(("Retry-After", Array("\((retryAfter + 999) / 1000)".utf8)))
        }
        if let allowed { response.headers.append(("Allow", Array(allowed.text.description.utf8))) }
        return response
    }
}

// MARK: Places

extension DatabaseDirectory.LookUpError {
    /// Firebase's text for a database that does not exist; SDKs show it to developers (rest.md 6).
    package static let unknownText =
        "Firebase error. Please ensure that you have the URL of your Firebase Realtime Database instance configured "
        + "correctly."
}

extension RESTError {
    package static let notFound = RESTError(.notFound, "404 Not Found")

    /// There is no endpoint at a path. If it looks like a path of data, the text is Firebase's (rest.md 6).
    package static func notFound(at path: some Collection<UInt8>) -> RESTError {
        if path.starts(with: "/.".utf8) || path.suffix(5).elementsEqual(".json".utf8) { return .notFound }
        return RESTError(.notFound, "append .json to your request URI to use the REST API")
    }

    static let unknownDatabase = RESTError(.notFound, DatabaseDirectory.LookUpError.unknownText)

    package static func methodNotAllowed(_ allowed: StaticString) -> RESTError {
        var error = RESTError(.methodNotAllowed, "this method is not supported here")
        error.allowed = StaticText(allowed)
        return error
    }

    package init(_ error: DatabaseDirectory.LookUpError) {
        switch error {
        case .invalidName: self.init(.forbidden, "Invalid Firebase database name")
        case .unknown: self = .unknownDatabase
        case .tooMany: self.init(.tooManyRequests, "too many databases without data are in use: try again later")
        }
    }

    init(_ error: PathError) {
        switch error {
        case .tooDeep, .key(.tooLong, _): self.init("Invalid path: \(error)")
        case .key, .invalidPercentEncoding: self.init("Invalid path: Invalid token in path")
        }
    }
}

// MARK: Bodies

extension RESTError {
    static let noData = RESTError("Error: No data supplied.")
    package static let payloadTooLarge = RESTError(.contentTooLarge, "Payload is too large")
    package static let crowded = RESTError(.tooManyRequests, "this address has as many connections as it may have")
    package static let noRoom = RESTError(.serviceUnavailable, Failure.noRoom.message)
    static let notJSON = RESTError("Invalid data; couldn't parse JSON object, array, or value.")
    static let notAnObject = RESTError(
        "Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?")
    static let tooLarge = RESTError(
        "Data to write exceeds the maximum size that can be modified with a single request.")

    static let triggersStayEnabled = RESTError(.forbidden, "disableTriggers is for administrators")

    package static let tooLate = RESTError("the data could not be read within the timeout")

    /// `body` is the text in which the error was found.
    init(_ error: RequestError, in body: [UInt8]) {
        switch error {
        case .missing, .path, .query: self = .notJSON
        case .overlappingPaths: self.init("Invalid data; \(error.message).")
        case .key(let mistake, let offset): self.init(key: mistake, at: offset, in: body)
        case .value(let error):
            switch error.kind {
            case .key(let key): self.init(key: .key(key, index: 0), at: error.offset, in: body)
            case .unknownMetadata: self.init(key: .key(.empty, index: 0), at: error.offset, in: body)
            case .textTooLong, .stringTooLong: self = .tooLarge
            case .tooDeep:
                self.init("\(Self.notJSON.text) The data would be deeper than \(Path.maximumDepth) levels.")
            default: self = .notJSON
            }
        }
    }

    private init(key error: PathError, at offset: Int, in body: [UInt8]) {
        let (line, column) = JSONError(.unexpectedEnd, at: offset).position(in: body)
        let place = "Invalid data; couldn't parse key beginning at \(line):\(column)."
        switch error {
        case .tooDeep, .key(.tooLong, _): self.init("\(place) Invalid path: \(error)")
        case .key, .invalidPercentEncoding:
            self.init("\(place) Key value can't be empty or contain $ # [ ] / or .")
        }
    }
}

// MARK: Answers of the database

extension RESTError {
    package init(_ failure: Failure) {
        switch failure {
        case .stale: self.init(.preconditionFailed, failure.message)
        case .noRoom: self = .noRoom
        case .denied:
            self.init(.unauthorized, failure.message)
            denialReason = failure.denialReason
        case .notUnique, .refusedBySetting: self.init(.conflict, failure.message)
        case .rateExceeded:
            self.init(.tooManyRequests, failure.message)
            retryAfter = failure.retryAfter
        case .tooLarge:
            self.init("Data requested exceeds the maximum size that can be accessed with a single request.")
        case .refused(.leaseLost, let text), .refused(.jobGone, let text): self.init(.conflict, text)
        case .nothingThere, .noIndex, .refused: self.init(failure.message)
        case .unavailable(let error): self.init(error)
        }
    }

    package init(_ error: StorageError) { self.init(.serviceUnavailable, error.summary) }
}
