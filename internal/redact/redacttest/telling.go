package redacttest

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

//go:embed telling.txt
var tellingLines string

// blank is a word in braces: what to fill in, its length, and the rule that finds it.
var blank = regexp.MustCompile(`\{([a-z]+)(\d*)(?:\|([a-z]+))?\}`)

// Sentence is a text in which a secret follows a word that gives it away, and what is to
// be left of it.
type Sentence struct {
	Text, Want string
	Rules      []string
	Secrets    []string
}

// Sample returns the sentence as a sample of its first secret.
func (s Sentence) Sample() Sample {
	return Sample{Rule: s.Rules[0], Text: s.Text, Secret: s.Secrets[0]}
}

// Sentences returns the sentences of libraries and people, the same for the same seed.
func Sentences(seed uint64) []Sentence { return newMaker(seed).sentences() }

func (m maker) sentences() []Sentence {
	var list []Sentence
	for line := range strings.Lines(tellingLines) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n")
		var s Sentence
		at := 0
		for _, b := range blank.FindAllStringSubmatchIndex(line, -1) {
			part := func(g int) string {
				if b[2*g] < 0 {
					return ""
				}
				return line[b[2*g]:b[2*g+1]]
			}
			n, _ := strconv.Atoi(part(2))
			secret, rule := m.fill(part(1), n), part(3)
			if rule == "" {
				rule = "told"
			}
			s.Text += line[at:b[0]] + secret
			s.Want += line[at:b[0]] + "[redacted:" + rule + "]"
			s.Rules, s.Secrets = append(s.Rules, rule), append(s.Secrets, secret)
			at = b[1]
		}
		s.Text, s.Want = s.Text+line[at:], s.Want+line[at:]
		list = append(list, s)
	}
	return list
}

// telling returns every third of the sentences that have one secret as samples. A PIN of
// four digits also stands in other numbers, so none is among them.
func (m maker) telling(round int) []Sample {
	var list []Sample
	for i, s := range m.sentences() {
		if len(s.Secrets) == 1 && len(s.Secrets[0]) >= 8 && i%3 == round%3 {
			list = append(list, s.Sample())
		}
	}
	return list
}

// mixed draws until there are letters and digits, as in all but a few of the values that
// chance makes.
func (m maker) mixed(alphabet string, n int) string {
	for {
		v := m.filler(alphabet, n)
		if strings.ContainsAny(v, lower+upper) && len(strings.Trim(v, digits)) > 2 && countDigits(v) > 1 && countDigits(v) < n && !strings.Contains(strings.ToLower(v), "aws") {
			return v
		}
	}
}

func countDigits(v string) (n int) {
	for i := range len(v) {
		if strings.IndexByte(digits, v[i]) >= 0 {
			n++
		}
	}
	return n
}

func (m maker) fill(kind string, n int) string {
	switch kind {
	case "alnum":
		return m.mixed(alnum, n)
	case "hex":
		return m.mixed(hexa, n)
	case "zerox":
		return "0x" + m.mixed(hexa, n)
	case "bytes":
		return m.mixed(alnum+"+/", n)
	case "seed":
		return m.mixed(upper+"234567", n)
	case "digits":
		return m.filler("12345678", 1) + m.filler(digits, n-1)
	}
	switch kind {
	case "pass":
		return m.filler(lower, 4) + m.filler("!#^*~", 1) + m.filler(alnum, 6) + m.filler(digits, 1)
	case "word":
		return m.filler(lower, 6) + m.filler(digits, 2)
	case "uuid":
		return fmt.Sprintf("%s-%s-4%s-a%s-%s", m.mixed(hexa, 8), m.filler(hexa, 4), m.filler(hexa, 3), m.filler(hexa, 3), m.filler(hexa, 12))
	case "aws":
		return "AKIA" + m.filler(upper, 10) + "27" + m.filler(upper, 4)
	case "pair":
		return m.filler(lower, 3) + m.filler(upper, 9) + "/" + m.filler(alnum, 20) + "7" + m.filler(lower, 3) + m.filler(upper, 3)
	case "wif":
		return m.wif()
	case "xprv":
		return "xprv9" + m.filler(base58, 106)
	case "mnemonic":
		words := strings.Fields("abandon ability lizard zebra canyon dolphin velvet orbit hammer galaxy puzzle ribbon winter saddle copper")
		m.Shuffle(len(words), func(i, k int) { words[i], words[k] = words[k], words[i] })
		return strings.Join(words[:12], " ")
	case "grouped":
		return grouped(m.filler("abcdefghijklmnopqrstuvwxyz", 14)+"37", " ", 4)
	}
	panic("redacttest: nothing is called " + kind)
}

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// wif makes a private key in the wallet import format.
func (m maker) wif() string {
	raw := []byte{0x80}
	for range 32 {
		raw = append(raw, byte(m.IntN(256)))
	}
	raw = append(raw, 1)
	first := sha256.Sum256(raw)
	second := sha256.Sum256(first[:])
	number, rest, base := new(big.Int).SetBytes(append(raw, second[:4]...)), new(big.Int), big.NewInt(58)
	text := ""
	for number.Sign() > 0 {
		number.DivMod(number, base, rest)
		text = string(base58[rest.Int64()]) + text
	}
	return text
}
