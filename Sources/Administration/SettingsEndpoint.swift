package import HearthAccess
import HearthClusterSharing
import HearthDatabaseHost
import HearthHTTPCodec
package import HearthServerCodecs
package import HearthHTTPResponses
import HearthJSONValues
import HearthREST
import HearthSecurityRules
import HearthServerLog
import HearthSystem

/// The settings of one database.
package struct SettingsEndpoint: Sendable {
    let database: String
    let server: AdministeredServer
    /// The name of the administrator.
    let administrator: String

    package init(database: String, server: AdministeredServer, administrator: String) {
        self.database = database
        self.server = server
        self.administrator = administrator
    }

    /// The result of a PUT, POST or DELETE.
    package enum Change {
        case made(HTTPResponse)
        /// All nodes of the cluster are to take over texts (SharedDocuments.swift).
        case shared([(name: String, text: [UInt8])], [AuditEvent])

        /// Does the remaining work, and calls back with the answer, perhaps later on another thread.
        package func finish(_ endpoint: SettingsEndpoint, _ then: @escaping @Sendable (HTTPResponse) -> Void) {
            switch self {
            case .made(let response): then(response)
            case .shared(let texts, let events):
                endpoint.share(texts) { failure in then(endpoint.response(to: events, failure)) }
            }
        }
    }

    /// May take long.
    package func change(_ head: RequestHead, _ body: [UInt8]) -> Change {
        guard server.sharing != nil, head.method == .put, !head.isOn("dryRun") else {
            return .made(response(to: head, body))
        }
        let (rulesName, settingsName) = (SharedDocument.rulesName(database), SharedDocument.settingsName(database))
        do {
            switch head.settingsPath {
            case "/.settings/rules.json":
                let program = try RulesProgram(parsing: body)
                server.warnOfOpenRules(program, in: database)
                return .shared([(rulesName, body)], [event(.rules)])
            case "/.settings/settings.json":
                _ = try DatabaseSettings(parsing: body)
                return .shared([(settingsName, body)], [event(.settings)])
            case "/.settings/rules-and-settings.json":
                let pair = try RulesAndSettings(parsing: body)
                server.warnOfOpenRules(pair.rules, in: database)
                let texts = [(rulesName, pair.rules.file), (settingsName, pair.settings.file)]
                return .shared(texts, [event(.rules), event(.settings)])
            default: return .made(response(to: head, body))
            }
        } catch {
            return .made(HTTPResponse(.badRequest, error: "\(error)\n"))
        }
    }

    fileprivate func share(
        _ texts: [(name: String, text: [UInt8])], _ then: @escaping @Sendable (SharingFailure?) -> Void
    ) {
        guard let sharing = server.sharing else { return then(.init(description: "the server is shutting down")) }
        sharing.documents.put(texts, then: then)
    }

    fileprivate func response(to events: [AuditEvent], _ failure: SharingFailure?) -> HTTPResponse {
        if let failure { return HTTPResponse(.serviceUnavailable, error: failure.description) }
        for event in events { server.trail.note(event) }
        return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
    }

    private func event(_ kind: AuditEvent.Kind) -> AuditEvent {
        AuditEvent(kind, [("by", administrator), ("database", database)])
    }

    /// A PUT, POST or DELETE may take long.
    package func response(to head: RequestHead, _ body: [UInt8]) -> HTTPResponse {
        let isRead = head.method == .get || head.method == .head
        switch head.settingsPath {
        case "/.settings/rules.json" where isRead:
            let isStrict = head.query.first("format").map { $0.elementsEqual("strict".utf8) } ?? false
            return HTTPResponse(json: server.rules.text(of: database, isStrict: isStrict))
        case "/.settings/rules.json" where head.method == .put:
            return setRules(body, isDryRun: head.isOn("dryRun"), warns: head.isOn("warnings"))
        case "/.settings/settings.json" where isRead:
            return HTTPResponse(json: server.rules.settingsText(of: database))
        case "/.settings/settings.json" where head.method == .put:
            return setSettings(body, isDryRun: head.isOn("dryRun"))
        case "/.settings/settings.json" where head.method == .delete: return removeSettings()
        case "/.settings/rules-and-settings.json" where isRead:
            let (rules, settings) = server.rules.texts(of: database)
            return HTTPResponse(json: JSONObject(["rules": .string(rules), "settings": .string(settings)]).bytes)
        case "/.settings/rules-and-settings.json" where head.method == .put:
            return setBoth(body, isDryRun: head.isOn("dryRun"), warns: head.isOn("warnings"))
        case "/.settings/denials.json" where isRead: return HTTPResponse(json: server.denials.json(of: database))
        case "/.settings/rules.json", "/.settings/rules-and-settings.json":
            return RESTError.methodNotAllowed("GET, HEAD, PUT").response
        case "/.settings/settings.json": return RESTError.methodNotAllowed("GET, HEAD, PUT, DELETE").response
        case "/.settings/denials.json": return RESTError.methodNotAllowed("GET, HEAD").response
        case "/.settings/test.json" where head.method == .post: return testRules(body)
        case "/.settings/explain.json", "/.settings/test.json": return RESTError.methodNotAllowed("POST").response
        default: return RESTError.notFound.response
        }
    }

    /// All or nothing, as with rules.
    private func setSettings(_ text: [UInt8], isDryRun: Bool) -> HTTPResponse {
        do throws(RulesError) {
            let settings = try DatabaseSettings(parsing: text)
            if isDryRun { return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8)) }
            do throws(PrivateFile.Failure) {
                try server.rules.set(settings, for: database)
            } catch {
                server.log.error("settings.write-failed", [("database", database), ("error", error.description)])
                return HTTPResponse(.internalServerError, error: "the settings could not be kept: the log says why")
            }
            server.trail.note(event(.settings))
            server.databases.rulesChanged()
            return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
        } catch {
            return HTTPResponse(.badRequest, error: "\(error)\n")
        }
    }

    /// Gives the database back the settings of the server's file. Settings shared by a cluster are replaced, not
    /// removed.
    private func removeSettings() -> HTTPResponse {
        guard server.sharing == nil else {
            return HTTPResponse(.badRequest, error: "in a cluster, settings are replaced: PUT those that are to hold\n")
        }
        do throws(PrivateFile.Failure) {
            if try server.rules.removeSettings(of: database) {
                server.trail.note(event(.settings))
                server.databases.rulesChanged()
            }
            return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
        } catch {
            server.log.error("settings.write-failed", [("database", database), ("error", error.description)])
            return HTTPResponse(.internalServerError, error: "the settings could not be removed: the log says why")
        }
    }

    /// All or nothing: a file with a mistake changes nothing.
    ///
    /// - parameter warns: a dry run tells whether the rules are open.
    private func setRules(_ text: [UInt8], isDryRun: Bool, warns: Bool) -> HTTPResponse {
        do throws(RulesError) {
            let program = try RulesProgram(parsing: text)
            if isDryRun { return checked(program, warns: warns) }
            do throws(PrivateFile.Failure) {
                try server.rules.set(program, for: database)
            } catch {
                server.log.error("rules.write-failed", [("database", database), ("error", error.description)])
                return HTTPResponse(.internalServerError, error: "the rules could not be kept: the log says why")
            }
            server.trail.note(event(.rules))
            server.warnOfOpenRules(program, in: database)
            server.databases.rulesChanged()
            return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
        } catch {
            return HTTPResponse(.badRequest, error: "\(error)\n")
        }
    }

    /// Both or neither.
    private func setBoth(_ body: [UInt8], isDryRun: Bool, warns: Bool) -> HTTPResponse {
        do throws(RulesAndSettings.Mistake) {
            let pair = try RulesAndSettings(parsing: body)
            if isDryRun { return checked(pair.rules, warns: warns) }
            do throws(PrivateFile.Failure) {
                try server.rules.set(pair.rules, pair.settings, for: database)
            } catch {
                server.log.error("rules.write-failed", [("database", database), ("error", error.description)])
                return HTTPResponse(
                    .internalServerError, error: "the rules and settings could not be kept: the log says why")
            }
            for kind in [AuditEvent.Kind.rules, .settings] { server.trail.note(event(kind)) }
            server.warnOfOpenRules(pair.rules, in: database)
            server.databases.rulesChanged()
            return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
        } catch {
            return HTTPResponse(.badRequest, error: "\(error)\n")
        }
    }

    private func checked(_ program: RulesProgram, warns: Bool) -> HTTPResponse {
        let answer = JSONObject(["status": .text("ok"), "open": warns ? .bool(program.isOpen) : nil])
        return HTTPResponse(json: answer.bytes)
    }

    /// Runs a file of test cases, on data of its own.
    private func testRules(_ body: [UInt8]) -> HTTPResponse {
        do throws(RESTError) {
            let request = try RulesTestRequest(parsing: body)
            return request.response(inForce: server.rules.program(for: database) ?? .open)
        } catch {
            return error.response
        }
    }
}

extension RequestHead {
    /// Whether a parameter of the query is `true`.
    fileprivate func isOn(_ name: StaticString) -> Bool {
        query.first(name).map { $0.elementsEqual("true".utf8) } ?? false
    }
}
