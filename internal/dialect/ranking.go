package dialect

import "penstock"

// Ranking is how much an upstream reads to rank documents by a query. It is zero for calls that rank nothing.
//
// A reranker reads the query again with each document, and some cut long documents into pieces, which they read one by one. So the
// bytes of the body do not bound the input.
type Ranking struct {
	Documents  int64
	QueryBytes int64
	// Pieces is the most pieces that the documents are cut into.
	Pieces int64
}

const (
	// leastPieceTokens is the least length of the pieces that upstreams cut documents into. Cohere's pieces have about 500 tokens, of
	// which the query has 256 at most.
	leastPieceTokens = 244
	// pairTokens is more than upstreams add to a query and a piece: marks between them, and an instruction.
	pairTokens = 256
)

// Add adds a document of so many bytes.
func (r *Ranking) Add(bytes int64) {
	r.Documents++
	r.Pieces += max(1, (bytes+leastPieceTokens-1)/leastPieceTokens)
}

// Searches is the most search units that an upstream charges for.
func (r Ranking) Searches() int64 { return penstock.SearchUnits(r.Pieces) }

// Charged is the search units that are charged for: those that the upstream reports, or else the most. A report above that is wrong.
func (r Ranking) Charged(reported int64) int64 {
	if reported > 0 {
		return min(reported, r.Searches())
	}
	return r.Searches()
}

// Repeated is the likely number of bytes that an upstream reads beside those of the body.
func (r Ranking) Repeated() int64 { return r.Documents * r.QueryBytes }

// MostRepeated is the most tokens that an upstream reads beside those of the body.
func (r Ranking) MostRepeated() int64 { return r.Pieces * (r.QueryBytes + pairTokens) }

// InputTokens estimates the tokens of input: those of the body, and those that a reranker reads again.
func (inf *Inference) InputTokens() int64 {
	return penstock.InputTokens(int64(len(inf.Object.Text)) + inf.Ranking.Repeated())
}
