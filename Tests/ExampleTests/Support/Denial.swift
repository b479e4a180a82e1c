import HearthClient
import Testing

/// Expects that the rules deny what `body` does.
@MainActor
func expectDenial(
    _ location: SourceLocation = #_sourceLocation, _ body: @MainActor () async throws -> some Any
) async {
    let error = await #expect(throws: DatabaseError.self, sourceLocation: location) { _ = try await body() }
    guard case .permissionDenied? = error else {
        Issue.record("not a denial: \(error.map { "\($0)" } ?? "")", sourceLocation: location)
        return
    }
}
