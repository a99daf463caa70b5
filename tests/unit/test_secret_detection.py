"""Tables of secrets by issuer, by form and by file name, and of values that only resemble secrets.

Values are generated from a seed, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.redaction.rules import tokens
from promptls.redaction.secret_files import secret_kind
from promptls.redaction.secrets import redact

CHARACTERS = {
    "a": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "d": "123456789",
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "B": string.ascii_uppercase + "234567",
    "u": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
    "L": string.ascii_letters,
}


def generated(template: str, seed: int = 7) -> str:
    """Return a template with random characters: `{a20}` stands for 20 letters and digits."""
    rng = random.Random(f"{template} {seed}")
    return re.sub(r"\{(\w)(\d+)\}", lambda m: "".join(rng.choices(CHARACTERS[m[1]], k=int(m[2]))), template)


TOKENS = """\
aws access key|AKIA{B16}
aws access key|ABIA{B16}
aws bedrock key|ABSK{b120}=
aws session token|IQoJb3JpZ2lu{b300}
azure secret|{a3}7Q~{u34}
azure key|{b42}AzSe{b6}==
azure devops token|{a76}AZDO{a4}
github token|ghs_{a36}
gitlab token|glpat-{u20}
gitlab token|glft-{u20}
gitlab token|glffct-{u20}
gitlab token|glsoat-{u20}
gitlab token|glimt-{u25}
gitlab token|glrt-t1_{u27}
gitlab token|glptt-{h40}
gitlab token|GR1348941{u20}
slack token|xoxe.xoxp-1-{a163}
slack webhook|https://hooks.slack.com/triggers/T{U8}/{d13}/{h32}
slack webhook|https://hooks.slack.com/workflows/T{U8}/A{U10}/{d18}/{a24}
teams webhook|https://corp.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}/{h8}-{h4}-{h4}-{h4}-{h12}
pinecone key|pcsk_{a6}_{a63}
langsmith key|lsv2_pt_{h32}_{h10}
langfuse key|sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}
hugging face token|api_org_{L34}
nvidia key|nvapi-{u64}
together key|tgp_v1_{u43}
tavily key|tvly-dev-{a32}
figma token|figd_{u40}
1password token|ops_eyJ{b300}
1password key|A3-{U6}-{U11}-{U5}-{U5}-{U5}
airtable token|pat{a14}.{h64}
fly token|fo1_{u43}
fly token|fm2_{b180}
nuget key|oy2{l43}
clojars token|CLOJARS_{h60}
google token|1//0{u90}
brevo key|xkeysib-{h64}-{a16}
mailgun key|{h32}-{h8}-{h8}
netlify token|nfp_{a36}
supabase key|sb_secret_{u22}_{u8}
neon key|napi_{l64}
braintree token|access_token$production${l16}${h32}
flutterwave key|FLWSECK-{h32}-X
plaid token|access-production-{h8}-{h4}-{h4}-{h4}-{h12}
pulumi token|pul-{h40}
hubspot token|pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}
dynatrace token|dt0c01.{U24}.{U64}
sonar token|squ_{h40}
circleci token|CCIPAT_{a22}_{h40}
buildkite token|bkua_{h40}
artifactory key|AKCp{a69}
launchdarkly key|sdk-{h8}-{h4}-{h4}-{h4}-{h12}
prefect key|pnu_{a36}
shippo token|shippo_live_{h40}
alibaba key|LTAI{a20}
tencent key|AKID{a32}
openshift token|sha256~{u43}
contentful token|CFPAT-{u43}
firecrawl key|fc-{h32}
jina key|jina_{a44}
e2b key|e2b_{h40}
asana token|2/{d16}/{d16}:{h32}
aws signature|https://shop.s3.amazonaws.com/a.pdf?X-Amz-Signature={h64}
google signature|https://storage.googleapis.com/a.pdf?X-Goog-Signature={h256}
cloudfront signature|https://cdn.shop/a.pdf?Signature={a120}
zapier webhook|https://hooks.zapier.com/hooks/catch/{d7}/{l8}/
make webhook|https://hook.eu1.make.com/{l32}
ifttt webhook|https://maker.ifttt.com/trigger/door/with/key/{u22}
private key|MC4CAQAwBQYDK2VwBCIEI{b43}
private key|MIIEvgIBADANBgkqhkiG9w0BAQEFAASC{b400}
product key|{U5}-{U5}-{U5}-{U5}-{U5}
product key|{U5}-{U5}-{U5}-{U5}-{U5}-{U5}
adafruit key|aio_{a28}
ghost key|{h24}:{h64}
bitlocker key|{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}
k3s token|K10{h64}::server:{h32}
calendar address|https://calendar.google.com/calendar/ical/ann/private-{h32}/basic.ics
azure signature|https://logic.azure.com/workflows/triggers/manual?sig={u43}
unity serial|F4-{U4}-{U4}-{U4}-{U4}-{U4}
amazon mws token|amzn.mws.{h8}-{h4}-{h4}-{h4}-{h12}
""".splitlines()


def test_token_of_issuer_is_redacted_in_every_surrounding() -> None:
    missed = []
    for name, template in (line.split("|") for line in TOKENS):
        for seed, text in enumerate(("call('{}')\n", "ID={}\n", "see {} for more\n", '{{"id": "{}"}}\n')):
            token = generated(template, seed)
            shown = redact(text.format(token), "notes.md")[0]
            if token in shown or f"⟦redacted: {name}⟧" not in shown:
                missed.append((name, shown))
    assert missed == []


def test_token_of_discord_is_redacted() -> None:
    token = base64.b64encode(b"314159265358979323").decode() + generated(".{u6}.{u38}")
    assert redact(f"bot.run('{token}')", "bot.py")[0] == "bot.run('⟦redacted: discord token⟧')"


def test_table_of_tokens_is_consistent() -> None:
    for pattern in tokens():
        assert pattern.source in {"issuer", "gitleaks", "detect-secrets"}
        assert re.compile(pattern.pattern).groups == 0
        assert pattern.indexed


@pytest.mark.parametrize(
    "template",
    ["AKIAIOSFODNN7EXAMPLE", "ghp_" + "x" * 36, "sk_live_" + "0" * 24, "xoxb-your-slack-bot-token-goes-here"],
)
def test_sample_token_stays(template: str) -> None:
    assert redact(f"call('{template}')", "src/a.py") == (f"call('{template}')", [])


RANDOM, CHOSEN, STRONG, PHRASE = (
    generated("{a16}"),
    "Falcon" + "river47",
    "Vt7" + "%kQ!p2xW",
    "otter-" + "harbor-violin",
)
KEY = generated("{a32}")

KEY_BYTES = (169, 78, 45, 254, 56, 126, 207, 111, 58, 47, 39, 151, 196, 181, 22, 186)

FORMS = """\
application.properties|spring.datasource.password=§|RCSP
application.properties|acme.jwt-secret=§|K
application.yml|    password: §|RCSP
application.yml|    password: ${DB_PASSWORD:§}|RC
docker-compose.yml|      MYSQL_ROOT_PASSWORD: §|RCSP
docker-compose.yml|      - POSTGRES_PASSWORD=§|RCSP
docker-compose.yml|    command: redis-server --requirepass § --appendonly yes|RCP
init.sql|CREATE USER 'app'@'%' IDENTIFIED BY '§';|RCSP
init.sql|ALTER USER a IDENTIFIED WITH mysql_native_password BY '§';|RC
init.sql|CREATE ROLE app WITH LOGIN PASSWORD '§';|RCS
Db.java|String url = "jdbc:postgresql://db/app?user=app&password=§&ssl=true";|RC
Db.java|Connection c = DriverManager.getConnection(url, "app", "§");|RCS
app.properties|url=jdbc:sqlserver://db;user=sa;password=§;encrypt=true|RC
app.properties|url=jdbc:oracle:thin:scott/§@//db:1521/ORCL|RC
Web.config|<add name="Db" connectionString="Server=db;User Id=sa;Password=§;" />|RCS
backup.sh|PGPASSWORD=§ pg_dump -h db app|RCP
backup.sh|mysqldump -u root -p§ app|RC
deploy.sh|sshpass -p '§' ssh root@db|RCS
deploy.sh|curl -fsS -u admin:§ https://repo.corp/x|RC
deploy.sh|docker login -u ci -p § registry.corp|RC
deploy.sh|echo '§' | docker login -u ci --password-stdin registry.corp|RC
deploy.sh|keytool -genkeypair -keystore a.jks -storepass § -alias x|RC
deploy.sh|kubectl create secret generic db --from-literal=password=§|RC
x.ps1|$p = ConvertTo-SecureString "§" -AsPlainText -Force|RCS
settings.xml|<password>§</password>|RCSP
pom.xml|<db.password>§</db.password>|RCP
tomcat-users.xml|<user username="admin" password="§" roles="x"/>|RCS
nuget.config|<add key="ClearTextPassword" value="§" />|RCS
hibernate.cfg.xml|<property name="hibernate.connection.password">§</property>|RCS
db.py|conn = connect("host=db user=app password=§ sslmode=require")|RC
db.py|conn = pymysql.connect(host='db', password='§')|RCS
db.py|server.login('bot@corp.org', '§')|RCS
db.py|r = get(url, auth=('ci', '§'))|RCS
db.py|ENGINE = 'postgresql://app:§@db.corp:5432/app'|RC
app.py|app.config['SECRET_KEY'] = '§'|K
app.py|TOKEN = os.getenv('API_TOKEN', '§')|K
app.js|const k = process.env.API_KEY \\|\\| '§';|K
db.js|mongoose.connect('mongodb+srv://app:§@c0.mongodb.net/app');|RC
db.ts|const dbPassword: string = '§';|RCS
db.go|db, err := sql.Open("mysql", "app:§@tcp(db:3306)/app")|RC
db.rs|const DB_PASSWORD: &str = "§";|RCS
Db.cs|public string Password { get; set; } = "§";|RCS
database.php|'password' => '§',|RCS
wp-config.php|define( 'DB_PASSWORD', '§' );|RCS
db.exs|  password: "§"|RCS
db.clj|{:user "a" :password "§"}|RCS
Jenkinsfile|  NEXUS_PASSWORD = '§'|RCS
Dockerfile|ENV DB_PASSWORD=§|RCP
Dockerfile|RUN echo 'root:§' | chpasswd|RC
app.service|Environment="DB_PASSWORD=§"|RC
a.tf|  password = "§"|RCSP
v.tf|variable "db_password" {\\n  type    = string\\n  default = "§"\\n}|RCS
stack.yaml|  DBPassword:\\n    Type: String\\n    Default: §|RC
deploy.yaml|- name: DB_PASSWORD\\n  value: "§"|RCS
azuredeploy.json|{"administratorLoginPassword": {"value": "§"}}|RCS
a.json|{"body":"{\\\\"user\\\\":\\\\"a\\\\",\\\\"password\\\\":\\\\"§\\\\"}"}|RC
a.json|{"user":"app","password":"§","port":1}|RCS
a.toml|db = { user = "app", password = "§" }|RCS
a.yaml|db: {user: app, password: §, port: 5432}|RC
pgpass.md|db.corp:5432:app:app:§|RCP
README.md|machine api.corp login bob password §|RCP
README.md|curl -H "Authorization: Bearer §" https://api.corp|K
README.md|curl -H 'X-Api-Key: §' https://api.corp|K
install.md|//registry.npmjs.org/:_authToken=§|K
app.log|ERROR login failed user=bob password=§ ip=10.1.1.1|RC
app.log|GET /v1/items?api_key=§&page=2 200|K
a.diff|+  password: §|RC
db.php|$pdo = new PDO('mysql:host=db;dbname=app', 'root', '§');|RCSP
db.php|$link = mysqli_connect('db', 'app', '§', 'app');|RCSP
db.php|$c = oci_connect('hr', '§', 'db/XE');|RCSP
db.c|mysql_real_connect(c, "db", "app", "§", "app", 0, NULL, 0);|RCSP
db.c|conn = PQsetdbLogin("db", "5432", NULL, NULL, "app", "app", "§");|RCSP
db.py|db = pymysql.connect("db", "app", "§", "app")|RCSP
db.py|db = cx_Oracle.connect("app", "§", dsn)|RCSP
db.js|const db = new Sequelize('app', 'root', '§', { dialect: 'mysql' });|RCSP
Db.java|Connection c = DriverManager.getConnection(url, user(), "§");|RCSP
Mail.java|return new PasswordAuthentication("bot@corp.org", "§");|RCSP
Mail.java|new PasswordCredential("bot", "§".toCharArray());|RCSP
Mail.cs|client.Credentials = new NetworkCredential("bot", "§");|RCSP
mail.go|auth := smtp.PlainAuth("", "bot@corp.org", "§", host)|RCSP
http.go|req.SetBasicAuth("bob", "§")|RCSP
http.rb|req.basic_auth 'bob', '§'|RCSP
http.rs|let r = client.get(u).basic_auth("bob", Some("§"))|RCSP
ftp.py|ftp = FTP('ftp.corp', 'bob', '§')|RCSP
ftp.pl|$ftp->login("bob", "§") or die;|RCSP
ssh.py|ssh.connect(host, 22, 'root', '§')|RCSP
Ssh.java|session.setPassword("§");|RCSP
w.ino|WiFi.begin("home", "§");|RCSP
ks.cfg|rootpw --plaintext §|RCSP
fluent.conf|  password §|RCSP
collectd.conf|  Password "§"|RCSP
slapd.conf|rootpw §|RCSP
sentinel.conf|sentinel auth-pass primary §|RCSP
redis.conf|masterauth §|RCSP
haproxy.cfg|  user bob insecure-password §|RCSP
sasl_passwd|[smtp.corp.org]:587 bot@corp.org:§|RCP
router.cfg|username bob privilege 15 password 0 §|RCSP
router.cfg|snmp-server community § RO|RCP
preseed.cfg|d-i passwd/root-password password §|RCSP
ipsec.conf|vpn.corp : PSK "§"|RCSP
squid.conf|cache_peer up parent 3128 0 login=bob:§|RCSP
user-data.yml|chpasswd:\\n  list: \\|\\n    root:§|RCP
nginx.conf|proxy_set_header X-Api-Key "§";|RC
ftp.txt|user bob §|RCP
x.exp|send "§\\\\r"|RCSP
x.exp|set password "§"|RCSP
Dockerfile|ENV DB_PASSWORD §|RCSP
x.sh|sqlplus scott/§@ORCL|RCS
x.sh|sqlcmd -S db -U sa -P '§' -Q 'select 1'|RCSP
x.sh|7z x a.7z -p§|RCSP
x.sh|mariadb-dump -u root -p§ app|RCP
x.sh|zip -r -P § a.zip dir|RCP
x.sh|plink -ssh root@db -pw § uptime|RCP
x.sh|xfreerdp /u:bob /p:§ /v:db|RCP
x.sh|cf login -u ci -p §|RCP
x.sh|smbclient //srv/share -U bob%§|RCP
x.sh|lftp -u bob,§ sftp://db|RCP
x.sh|echo '§' \\| sudo -S id|RCSP
x.sh|net user bob § /add|RCP
x.sh|apksigner sign --ks-pass pass:§ a.apk|RCP
x.sh|flyway -user=app -password=§ migrate|RC
x.sh|svn co --username bob --password § https://svn.corp|RCP
a.json|{"key": "password", "value": "§", "type": "string"}|RCSP
a.json|{"value": "§", "name": "db password"}|RCSP
task.json|{\\n  "name": "DB_PASSWORD",\\n  "value": "§"\\n}|RCSP
web.xml|<param-name>db.password</param-name>\\n  <param-value>§</param-value>|RCSP
core-site.xml|<name>fs.s3a.secret.key</name>\\n  <value>§</value>|K
Info.plist|<key>ApiPassword</key>\\n<string>§</string>|RCSP
t.jmx|<stringProp name="Login.password">§</stringProp>|RCSP
app.config|<add key="DbPassword" value="§" />|RCSP
o.config|  - option_name: DB_PASSWORD\\n    value: §|RCSP
a.cs|new AuthenticationHeaderValue("Bearer", "§")|K
a.rb|request['Authorization'] = 'Bearer §'|K
a.php|curl_setopt($ch, CURLOPT_USERPWD, 'bob:§');|RCSP
a.php|$headers = ['X-Auth-Token: §'];|RC
db.py|conn = warehouse.open_session("wh.corp.org", "loader", "§")|RCS
db.py|client.sign_in(\\n    "ops@corp.org",\\n    "§",\\n)|RCS
db.py|AUTH = ("bot", "§")|RCS
db.py|child.sendline("§")|RCS
db.py|db_pw = "§"|RCSP
db.py|kennwort = "§"|RCSP
db.py|subprocess.run(["shopctl", "-u", "bot", "-p", "§"])|RCS
db.py|os.system("shopctl login -u bot -p §")|RCS
db.py|parser.add_argument("--password", help="of the user", default="§")|RCSP
db.py|cur.execute("INSERT INTO users (login, password) VALUES ('bot', '§')")|RCSP
db.js|const shop = new ShopClient('https://corp.org', 'bot', '§');|RCS
db.js|await page.signIn(user, `§`);|RCS
db.ts|const auth: string[] = ['bot', '§'];|RCS
Db.java|repo.login(new SimpleCredentials("admin", "§".toCharArray()));|RCS
Db.java|store.load(in, "§".toCharArray());|RCS
Db.java|if (password.equals("§")) {|RCSP
Db.java|if ("§".equals(user.getPassword())) {|RCS
Db.cs|var session = await client.LoginAsync("bot", "§");|RCS
db.go|auth := []string{"bot", "§"}|RCS
db.go|c, err := shop.Dial("corp.org:99", "bot", "§")|RCS
db.rs|let c = Credentials::new("bot".to_string(), "§".to_string());|RCS
db.rb|Shop::Session.open 'corp.org', 'bot', '§'|RCS
db.rb|set :db_pass, '§'|RCSP
db.ex|{:ok, c} = Shop.connect("corp.org", "bot", "§")|RCS
db.erl|{password, "§"}.|RCSP
db.hs|shop <- connect "corp.org" "bot" "§"|RCS
db.clj|(shop/login "bot" "§")|RCS
x.sh|shopctl --user bot -p § get nodes|RCS
x.sh|shopctl -u bot -p§ get nodes|RCS
x.sh|shopctl push --creds bot:§ a.tgz|RCS
x.sh|shopctl auth --token §|RS
x.sh|shopctl secret set db.password §|RCS
x.sh|shopctl login https://corp.org bot §|RCS
x.sh|shopctl user add bot §|RCS
x.sh|echo "bot:§" \\| shop-users --import|RCS
x.sh|printf '%s' '§' \\| shopctl login --stdin|RCS
x.sh|sync bot:§@corp.example.org:/data .|RCS
x.sh|id=$(shopctl -u bot -p §)|RCS
x.exp|expect "assword:"\\nsend -- "§\\r"|RCS
README.md|Login: `bot` / `§`|RCS
README.md|\\| user \\| password \\|\\n\\| --- \\| --- \\|\\n\\| bot \\| § \\||RCSP
users.csv|name;password;role\\nbot;§;admin|RCSP
a.ini|shop.credentials=bot/§|RCS
a.yml|credentials:\\n  login: bot\\n  key: §|RCS
a.conf|set authkey §|RCS
chat.py|client = cohere.ClientV2("§")|K
curl.md|https://shop.azurewebsites.net/api/run?code=§ now|A
keys.py|os.environ["KAGGLE_KEY"] = "§"|K
setup.sh|aws configure set aws_secret_access_key §|K
setup.sh|aws configure set profile.shop.aws_session_token §|K
Web.config|<machineKey validationKey="§" decryption="AES" />|H
shop.toml|[jwt]\\nissuer = "shop"\\nsigning = "§"|KS
wp-config.php|define( 'DB_PASSWORD', '§' );|RCSW
wp-config.php|define('AUTH_KEY', '§');|KW
state.json|{"type": "random_password", "name": "db", "instances": [{"attributes": {"length": 16, "result": "§"}}]}|RCS
jwk.json|{"kty":"RSA","e":"AQAB","d":"§"}|A
jwk.json|{"k":"§","kty":"oct","alg":"HS256"}|K
curl.md|curl -H "Cookie: connect.sid=§" http://shop|E
notes.md|Log in with password `§`.|RCS
notes.md|Pre-shared key: §|RCS
notes.md|The pre-shared key is "§".|RCS
notes.md|The old pw was "§", sorry.|RCS
notes.md|The API key for the sandbox is §.|K
notes.md|Use this API key for the sandbox: `§`|K
notes.md|The wifi password is §.|CT
api.http|Cookie: session=§; theme=dark|K
notes.md|Use user `app` / password `§`.|RCS
notes.md|The database password is `§` (read only).|RCSD
notes.md|I log in with user worker and password § and get 403.|RS
notes.md|try the new one, pwd: § and tell me|RS
notes.md|Dashboard: login admin / §|RS
config.yml|    password: §|D
app.yml|jwt:\\n  issuer: shop\\n  key: §|KS
appsettings.json|"Jwt": { "Issuer": "shop", "Key": "§" }|KS
main.go|var jwtKey = []byte("§")|KS
main.rs|static ENCRYPTION_KEY: [u8; 32] = *b"§";|K
hook.py|secret = os.environ.get("HOOK_SECRET") or "§"|K
app.log|request headers: {Authorization=[Basic §], Accept=[*/*]}|L
app.log|Set-Cookie: theme=dark; sid=§; Path=/|KE
auth.rb|config.pepper = "§"|H
release.sh|GPG_PASSPHRASE="§"|N
a.sh|export AWS_SECRET_ACCESS_KEY=§|M
a.yml|cookieSecret: §|M
config.py|"PASSWORD": "§"|YZV
config.yml|rootPass: "§"|OYZV
Makefile|PGPASSWORD ?= §|K
config.go|DBPassword string `env:"DB_PASSWORD" envDefault:"§"`|CSP
main.go|var csrfKey = []byte(`§`)|K
LdapClient.java|env.put(Context.SECURITY_CREDENTIALS, "§");|KS
client.kt|"X-Api-Key" to "§"|K
site.yml|password: "{{ '§' \\| password_hash('sha512') }}"|CSP
app.py|cookies = {"session": "§"}|K
train.py|wandb.login(key="§")|H
hash.js|crypto.createHmac("sha256", "§")|KS
deploy.js|const mnemonic = "§";|Q
mqtt.cpp|#define WIFI_PSK "§"|KS
notes.md|the root password of vpn01 is "§".|RCS
key.ts|{ kty: "EC", crv: "P-256", d: "§" }|A
keys.py|API_KEYS = ["one", "§"]|KS
keys.py|API_KEYS: list[str] = ["§", "one"]|K
keys.py|DB_PASSWORDS = ("one", "§")|KS
keys.go|var apiKeys = []string{"one", "§"}|K
Keys.java|List<String> TOKENS = List.of("one", "§");|K
keys.yml|tokens: [one, §]|K
keys.yml|passwords:\\n  - one\\n  - "§"|KS
keys.json|"secrets": [\\n  "one",\\n  "§"\\n]|KS
app.js|app.use(session({ resave: false, secret: "§" }));|KSP
app.js|app.use(cookieParser("§"))|KS
app.js|jwt.sign({ sub: user.id }, "§", { expiresIn: "1h" })|KS
app.py|jwt.encode(payload, "§", algorithm="HS256")|KS
app.ts|const exa = new Exa("§")|K
app.go|deepgramKey = "§"|K
otp.py|TOTP_SEED = "§"|K
release.ps1|$pat = '§'|A
runtime.exs|secret_key_base: "§"|B
state.json|"smtp_password_v4": "§"|KS
monitoring.yml|routing_key: §|K
unseal.sh|vault operator unseal §|K
Dockerfile|ENV API_KEY §|K
nginx.conf|if ($arg_key != "§") {|KS
users.sh|htpasswd -b -c /etc/users admin §|RCS
Jenkinsfile|sh 'echo § | docker login -u ci --password-stdin reg'|KS
Jenkinsfile (diff)|sh 'echo § | docker login -u ci --password-stdin reg'|KS
login.sh|vault write auth/approle/login role_id=shop secret_id=§|I
git.txt|extraheader = AUTHORIZATION: basic §|L
settings.py|EMAIL_HOST_PASSWORD = '§'|G
settings.py|SECRET_KEY = '§'|J
vpn.py|SEED = "§"|F
backup.sh|export BORG_PASSPHRASE='§'|X
users.http|Authorization: SSWS §|K
client.ts|headers: { "Authorization": "GenieKey §" },|K
decrypt.sh|openssl enc -d -aes-256-cbc -K § -iv "$IV"|H
vm.args|-setcookie §|K
server.hcl|encrypt = "§"|U
wifi.nmconnection|[wifi-security]\\npsk=§|H
Box.swift|let key = SymmetricKey(data: Data(hex: "§"))|H
strategy.ts|secretOrKey: '§',|B
JwtConfig.java|return Keys.hmacShaKeyFor(Base64.getDecoder().decode("§"));|U
okta.ps1|$headers = @{ Authorization = "SSWS §" }|K
garage.yaml|api:\\n  encryption:\\n    key: "§"|U
Crypt.php|private const KEY_HEX = '§';|H
db.php|'password' => '§',|4
production.json|"password": "§"|5
map.bat|net use Z: \\\\\\\\NAS02\\\\share § /user:ann|S
otp.py|totp = pyotp.TOTP("§")|9
build.pl|$req->authorization_basic('svc-release', '§');|KS
app.py|app.secret_key = b'§'|8
cookies.txt|.shop.com\tTRUE\t/\tTRUE\t1767221000\tsid\t§|K
values.yaml|adminPassword: "§"|.
lorawan.h|#define LORAWAN_APPKEY  "§"|k
accounts.md|last unused recovery code: `§`|6
ceph.keyring|[client.rbd]\\n\tkey = §|7
Vault.java|private static final byte[] KEY = {§};|3
export.ts|// upload portal: login ann, pw §|S
export.ts| * The password is § for now.|S
run.go|# login: ann / §|S
link.c|/* link; login for the test bench: bench / § */|S
notes.txt|no key login on this one: root / §|S
keys.h|static const uint8_t link_key[16] = {§};|0
keys.go|var masterKey = []byte{§}|0
keys.rs|const SAVE_KEY: [u8; 16] = [§];|1
Keys.java|private static final byte[] KEY = { § };|2
bridge.yaml|network_key: [§]|1
cred.ps1|$key = (§)|1
notes.md|das Passwort lautet § und gilt bald|S
notes.md|la contraseña es §.|S
TODO.txt|- root pw of the old hosts is still § (all)|S
chat.txt|use mine for now, ann.k / §|S
upload.py|# old account: upl_ann / §|S
create.sql|-- login after the migration: root@shop.io with §|S
mail.eml|User: ann, first password: §|S
2fa.md|- Authenticator app (second factor): §|9
users.oath|HOTP/T30/6\tann\t-\t§|H
wallet.txt|seed words: §|Q
host.nix|adminpassFile = "${pkgs.writeText "adminpass" "§"}";|S
cache.nix|cacheKey = "§"|n
hmac.go|var key, _ = hex.DecodeString("§")|H
PanVault.cs|static readonly byte[] Kek = Convert.FromBase64String("§");|U
env.php|'crypt' => [\\n    'key' => '§'\\n],|H
pypi.md|Last unused recovery code: §|h
publish.yml|- script: vsce publish --packagePath shop.vsix -p §|K
get.lftp|open -u ann,§ ftp.shop.eu|S
vm.args|-setcookie §|c
AppDelegate.cpp|jsb_set_xxtea_key("§");|K
Program.cs|PdfToolkit.License.Register("SHOP", "§");|U
prod.exs|password: "§",|x
mount.credentials|username=ann\\npassword=§|RCSD
seed.ldif|uid: scanner\\nuserPassword: §|RCSD
Caddyfile|tls {\\n\tdns cloudflare §\\n}|k
consumer.py|broker_url = "amqp://ann:§@mq.shop.eu/events"|y
consumer.env.txt|DB_PASSWORD=§|yd
pg.sh|psql "host=db user=ann password=§"|d
users.csv|login,initial_password,role\\nann,§,shop|d
proxy.conf|# login for the agency: ann / §|d
Restic.kt|mapOf("RESTIC_PASSWORD" to "§")|RCSP
idp.php|'sp_private_key' => '§',|p
Crypto.java|private static final String MASTER = "§";|H
Repo.fs|let private key = "§"|U
Hmac.vb|Private Const Key As String = "§"|U
Cipher.cs|private static readonly byte[] Key = Encoding.ASCII.GetBytes("§");|K
weather.sh|curl "https://api.shop.eu/forecast?q=Oslo&appid=§"|i
oidc.conf|OIDCClientSecret §|I
compose.yml|      RABBITMQ_ERLANG_COOKIE: §|KU
node.md|    kubeadm join 10.20.0.5:6443 --token §|j
hook.py|URL = f"https://maker.ifttt.com/trigger/{EVENT}/with/key/§"|k
grid.ts|setLicenseKey("LicenseType=Single,Expiry=2027=§")|i
handover.md|`config/master.key` is not in git; content: §|i
setup.md|1. put this into `config/master.key`:\\n\\n       §\\n\\n2. start|i
totp.md|Second factor, type it into any authenticator app:\\n\\n    §\\n\\n30 s|9
luks.md|Passphrase to unlock:\\n\\n> §\\n\\nChecked in May.|X
luks.txt|passphrase for both: §|T
recovery.txt|GitHub recovery\\n(all others are used up)\\n\\n§\\n|6
setup.txt|hcloud context create shop -> token §|A
chat.txt|[14:03] Bruno: pw §|e
conn.go|// TODO: stop falling back to the shared pw (§)|5
run.md|use the local user `rescue` with `§` on the console|d
fhem.cfg|attr Cam1 basicauth admin:§|S
notes.md|Kennwort für den Drucker lautet § (alle)|S
Login.swift|app.secureTextFields["pw"].typeText("§")|RCS
root.lua|os.execute("echo 'root:§' \\| chpasswd")|S
application.properties|recon.sftp.password=§|z
vhost.conf|    SetEnv SHARED_SECRET §|U
export.js|// Benutzer "ann", Passwort §|S
kitchen.yaml|api:\\n  encryption:\\n    key: "§"|/
devices.json|{ "name": "lamp", "localKey": "§" }|R
home.nix|wireless.networks."attic".psk = "§";|V
labels.md|the account is `printer`, password `§`|g
recovery.md|Recovery codes, each works once:\\n§\\n|l
Store.swift|static let key = SymmetricKey(data: [§])|1
lib.rs|const MASTER: [u8; 16] = [§];|1
""".splitlines()
VALUES = {"R": RANDOM, "C": CHOSEN, "S": STRONG, "P": PHRASE, "K": KEY, "W": f"blue {STRONG} tree"} | {
    kind: generated(template) for kind, template in (("A", "{a54}"), ("H", "{h64}"), ("E", "s%3A{a32}.{a43}"))
}
VALUES |= {
    "B": generated("{a20}/{a20}/{a22}"),
    "T": "cobalt-amber-copper-93",
    "D": "Violet.glacier482",
    "M": "kZJRlKnfb3730AJ/fTz8wQ2/mVb6RkP9sLq",
    "O": "AWIQ.sZfwV2B1N6Z",
    "Q": "cricket saddle ladder napkin fabric drift famous lumber debris elegant tackle acoustic",
    "V": "V3ntanaUmber_99",
    "Y": "!JasperKrestel4471",
    "Z": "%SaffronWinter9062",
    "N": "lantern tundra 92 glacier",
    "G": "bcdf ghjk lmnp qrst",
    "I": "e0260001-dbe1-4115-862c-7c573f5b0639",
    "J": "f3$0vw*l_8k!n2b&1z@q9=x7(m-r4^t6+y5#h3)c0d%g2j8p1!",
    "F": "6xnh 4han mcqs kz3h ihsg 7hfq 7aue xvdy",
    "X": "quartz raven violin feather breeze",
    "U": generated("{b43}="),
    "0": ", ".join(f"0x{n:02x}" for n in KEY_BYTES),
    "1": ",".join(map(str, KEY_BYTES)),
    "3": ", ".join(str(n - 256 if n > 127 else n) for n in KEY_BYTES),
    "4": "greta.oslo2019",
    "5": "Orchid+spring57",
    "6": "f3ac9-6b3dc",
    "7": generated("AQ{a36}=="),
    "8": "".join(f"\\x{n:02x}" for n in KEY_BYTES),
    "9": generated("{B32}"),
    ".": "kw.eU1PkmaML_W",
    "k": generated("{h32}").upper(),
    "n": generated("cache.shop.dev-1:{b86}=="),
    "h": generated("{h16}"),
    "c": "ONWKSCMOBAZUNVEFAWXR",
    "x": "98Hafen.cX",
    "d": "-Luna-2291",
    "e": "37BRAMBLE_herbs",
    "i": generated("{h32}"),
    "j": generated("{l6}.{l16}"),
    "p": generated("MIICXQIBAAKBgQ{b832}w=="),
    "y": "asdfDomenica57",
    "z": "tobias62.Camille",
    "/": generated("/{b42}="),
    "g": "Ruben-961",
    "l": "l1bmc-53ncx\n2rk72-ufzkp\nkk2s5-2uopw",
    "2": ", ".join(f"(byte) 0x{n:02x}" for n in KEY_BYTES),
    "L": base64.b64encode(f"x-access-token:{RANDOM}".encode()).decode(),
}


def _fields(line: str) -> tuple[str, str, str]:
    path, _, rest = line.partition("|")
    text, _, kinds = rest.rpartition("|")
    return path, text.replace("\\|", "|").replace("\\n", "\n").replace("\\\\", "\\"), kinds


CASES = [(path, text, VALUES[kind]) for path, text, kinds in map(_fields, FORMS) for kind in kinds]


def test_password_is_redacted_in_every_form() -> None:
    wrong = []
    for path, text, secret in CASES:
        before, after = text.split("§")
        shown, found = redact(f"{before}{secret}{after}\n", path, is_file=True)
        kept_lines = "\n" * secret.count("\n")
        if (
            not re.fullmatch(rf"{re.escape(before)}⟦redacted: [\w ]+⟧{kept_lines}{re.escape(after)}\n", shown)
            or len(found) != 1
        ):
            wrong.append((path, shown))
    assert wrong == []


@pytest.mark.parametrize("kind", ["data", "stringData"])
@pytest.mark.parametrize("order", [1, -1])
def test_values_of_a_kubernetes_secret_are_redacted(kind: str, order: int) -> None:
    value = base64.b64encode(RANDOM.encode()).decode() if kind == "data" else STRONG
    parts = [
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n",
        f"{kind}:\n  connection: {value}\n  ca.crt: {value}\n",
    ]
    other = f"---\nkind: ConfigMap\n{kind}:\n  connection: {value}\n"
    shown = redact("".join(parts[::order]) + other, "k8s/db.yaml", is_file=True)[0]
    assert "  connection: ⟦redacted: value⟧\n" in shown
    assert shown.endswith(other)


TRAPS = """\
secretName: my-app-tls-cert-2024
secretKeyRef: { name: db-credentials-v2, key: password1 }
tokenSecretRef: github-app-2048-prod
password: ${DB_PASSWORD}
password: ${DB_PASSWORD:changeme}
password: $(cat /run/secrets/db2)
password: {{ .Values.auth.password2 }}
password: "{{ vault_db_password_2 }}"
password: "<your-password-1>"
password: changeme
password: change-me-2024
password: example1234
password: xxxxxxxx
password: "********"
password: vault:secret/data/db2#password
password: !Ref DBPassword2
Log in with password `your-password-1`.
The pre-shared key is stored in the vault.
Pre-shared key: see the wiki page
connect.sid=
define('DB_PASSWORD', 'put your password here');
define('DB_PASSWORD', getenv('DB_PASSWORD'));
{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc","e":"AQAB"}
https://shop.example/callback?code=abc123
<machineKey validationKey="AutoGenerate,IsolateApps" />
api_key: ssm:/prod/app/key2
api_key: projects/p1/secrets/key2/versions/3
token: op://vault1/item2/field3
password = process.env.DB_PASSWORD2
password = os.environ["DB_PASSWORD_2"]
password = os.getenv("DB_PASSWORD_2")
password: str
password: str = Field(min_length=8, max_length=128)
def connect(self, password: SecretStr2, token: Optional[Token32] = None):
password = base64.b64decode(raw2)
password := readPassword2(os.Stdin)
token = jwt.encode(payload2, key3, algorithm="HS256")
const token = useToken2(props.auth0);
let password = self.passwordField2.text
passwordField = "input_password_2"
PASSWORD_REGEX = "^(?=.*[A-Z])(?=.*[0-9]).{8,}$"
password_hasher = "pbkdf2_sha256_v2"
password_url = "https://host1.corp/reset2/pw3"
tokenEndpoint: "https://login.corp/oauth2/v2.0/token"
token_type = "urn:ietf:params:oauth:token-type:jwt2"
authClass = "rest_framework2.auth3.TokenAuthentication4"
passwordInputClass: "form-control-lg2 mt-3"
"password": "Mot de passe",
"auth.login.password": "Passwort2 eingeben",
passwordTooShort=Das Passwort braucht 8 Zeichen
label_password: "Password:"
badCredentials = \\u0417\\u0430\\u0434\\u0430\\u043d\\u044b2
jwtutil "github.com/corp/app7/v3/util/jwt2"
minipass: "npm:^3.0.0"
integrity: sha512-{b86}==
"integrity": "sha384-{b64}"
  resolved "https://registry.corp/a/-/a-1.2.3.tgz#{h40}"
commit: {h40}
sha256: {h64}
digest = "sha256:{h64}"
image: corp/auth-server@sha256:{h64}
id: {h8}-{h4}-4{h3}-a{h3}-{h12}
uuid = "{h8}-{h4}-4{h3}-a{h3}-{h12}"
background: url(data:image/png;base64,{b120})
cache_key = "user_2_profile_3_settings_4"
primary_key = "id2"
public_key = "{b44}"
publicKeyToken="{h16}"
hashed_password = "{h40}"
https://user:password@localhost/db
postgres://postgres:postgres@localhost:5432/test
redis://:${REDIS_PASSWORD}@cache:6379
mysql -u root -p"$MYSQL_ROOT_PASSWORD" app
curl -u "$USER:$PASSWORD" https://corp
curl -u user:password https://corp
Authorization: Bearer <token>
Authorization: Bearer ${TOKEN}
-H "Authorization: Bearer YOUR_API_KEY_GOES_HERE_1234"
Authorization: Basic dXNlcjpwYXNzd29yZA==
CREATE USER app IDENTIFIED BY '${APP_PASSWORD}';
a column that is identified by its number2
if (password === confirmPassword2) {
return password.length >= minimum8;
firstPass = "lowering_v2_stage3"
e.password=!!t.passwordRequired2,e.token=n[4]
eventBus.on("click2", this.bind(this, "scrollMode2"), opts);
connect("db1.corp.org", "app2", os.getenv("DB_PASSWORD2"), "shop3")
new PDO($dsn2, $user2, $password2);
user.setPassword(form.password2);
<app-input-password i18n-title2 formControlName="password"></app-input-password>
the user and password are checked by the filter2
a password consists of eight2
mysql -p app2
docker run -p 8080:8080 web2
ssh -p 2222 host2
mkdir -p build2/out3
sqlplus /nolog
sqlcmd -S db -U sa -P "$SA_PASSWORD2"
{"name": "password", "value": "${DB_PASSWORD2}"}
- name: SECRET_NAME2\\n  value: app-secret2
<param-name>tokenEndpoint2</param-name><param-value>oauth2/token2</param-value>
client.login("user", "password")
AUTH = ("user", "pass")
auth_fields = ["email", "password_confirmation2"]
signal.connect("clicked", "on_button2_clicked")
session.open("index", "application/vnd.api+json", "v2.1")
auth.register("oauth2", "OAuth2Backend1")
new Client("service-1", "region-eu-west-1")
connect("http://127.0.0.1:8080", "api/v2", "Windows-1252")
credential = { id: "{u43}", rawId: "{u43}" }
registry.connect("corp.shop.PreFilterAspect2", "preFilterAspect$0")
"node_modules/connect": { "integrity": "sha512-{b86}==" }
shopctl -u bot -p $PASSWORD2 get nodes
docker run -u root -p 127.0.0.1:8080:80 nginx2
python -u -p pdb3 train2.py
acct: mailto:{a10}@corp.org
expect "assword:"\\nsend -- "$password2\r"
the login is either user/password or token/key2
after the login at this page: profile / settings2
INSERT INTO users (login, password) VALUES ('bot', 'password'), (:login2, :password2);
_BEARER_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
LS32_PAT = "(?:{hex}:{hex}|{ipv4})".format(hex=HEX_PAT2, ipv4=IPV4_PAT)
"pattern": "^arn:aws:secretsmanager:[a-z0-9-]+:secret:[a-zA-Z0-9/_+=.@-]+$"
"DkimTokens": ["{l40}", "{l40}"]
tokens = ["if2", "else_branch2", "identifier"]
checksum/secret: "{h64}"
checksum/secret: {h64}
mapboxgl.accessToken = "pk.eyJ{a60}.{u22}";
secret: !Ref AppSecret2
password: "%(db_password2)s"
password: "%DB_PASSWORD2%"
connect(TOKEN, "orders-table2")
password_message = "use at least 8 letters and 2 digits"
PASSWORD_HINT = "the word 2 of the list"
the password is base64-encoded, and the second password was optional
the password field and password validation2 are optional
password: string2 or null
"auth": { "type": "basic", "key": "name-of-it2" }
password_hints = ["at least 8 characters", "one digit2"]
// the login of the token service is described in token2.md
# pass the token to login2(), see password_policy2
static const uint8_t key_map[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
key_codes = [112, 113, 114, 112, 113, 114, 112, 113, 114, 112, 113, 114, 112, 113, 114, 112]
const char *aes128_key = "2b7e151628aed2a6abf7158809cf4f3c";
const uint8_t key[16] = {0x2b,0x7e,0x15,0x16,0x28,0xae,0xd2,0xa6,0xab,0xf7,0x15,0x88,0x09,0xcf,0x4f,0x3c};
var r9kZ=Xb(n0.tkn),aPw=r9kZ.pwd||e.pass2,b=1;
Authorization: requires the permission deploy2
const applicationServerKey = 'BVqVwdvJKmkCb8PiGKv_2GVlYLvPDr21uhGqmOBcndEaH5IyQkHMurmi7J3QFEAN3Yw4eKEDDIoIim4OWW4YvW3';
passphrase_hint = "choose several words that are easy for you to remember"
| option | token |\\n| --- | --- |\\n| a1 | name-of-it |
if ("Bearer-Token1".equals(tokenType2)) {
const key = "user_profile_settings_and_preferences_2"
the key of the map is one of:\\n\\nuser-settings-2\\n
docker run --token -v2 app3
mapOf("password" to "Passwort2 eingeben")
https://shop.eu/page?key=settings-of-the-user-profile-page-version-2
salt = "\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\\x09\\x0a\\x0b\\x0c"
""".splitlines()


@pytest.mark.parametrize("path", ["src/app.py", "config/app.yml", "README.md", ""])
def test_name_or_reference_or_sample_stays(path: str) -> None:
    changed = []
    for line in TRAPS:
        text = generated(line) if re.search(r"\{[ahdlUBubL]\d+\}", line) else line
        text = text.replace("\\n", "\n") + "\n"
        if redact(text, path, is_file=True) != (text, []):
            changed.append(text)
    assert changed == []


@pytest.mark.parametrize("path", ["src/app.py", "tests/test_app.py"])
def test_known_password_stays(path: str) -> None:
    for value in (
        "password1",
        "P@ssw0rd",
        "admin123",
        "test1234",
        "secret123",
        "qwerty123",
        "asdf1234qwer",
        "foobar42",
        "letmein1",
    ):
        text = f'login(user="a", password="{value}")\npassword = "{value}"\n'
        assert redact(text, path, is_file=True) == (text, [])


def test_password_in_a_test_is_redacted_only_if_it_is_random_or_strong() -> None:
    text = f'# login: ann / sakura96156\npassword = "{CHOSEN}"\npassword = "{RANDOM}"\npassword = "{STRONG}"\n'
    shown = redact(text, "tests/test_login.py", is_file=True)[0]
    assert [value in shown for value in ("sakura96156", CHOSEN, RANDOM, STRONG)] == [True, True, False, False]


SECRET_FILES = """\
id_rsa.bak id_ed25519.old backup/id_ecdsa~ prod-secrets.yaml secrets-prod.yml app-secret.yaml config/secrets.production.yml
gcp-credentials.json credentials-prod.json application_default_credentials.json serviceAccountKey.json gcp-key.json
corp-firebase-adminsdk-ab12c-0123.json client_secret_1-a.apps.googleusercontent.com.json kubeconfig-prod prod.kubeconfig
kubeconfig.prod.yaml certs/server.p12 certs/app.pfx a.jks release.keystore .env.production .env.prod.local env.production .envrc
terraform.tfstate.1699.backup terraform.tfstate.backup prod.auto.tfvars .aws/credentials.bak .pgpass pgpass.conf htpasswd
.vault_pass vault-password.txt passwords.txt passwords.kdbx AuthKey_AB12.p8 client.ovpn .password-store/corp.gpg
.m2/settings-security.xml .config/gh/hosts.yml .azure/accessTokens.json .rclone.conf .databrickscfg .oci/config wg0.conf
local.settings.json .streamlit/secrets.toml .cargo/credentials.toml .terraformrc token.json accessKeys.csv jwt.key
""".split()
OTHER_FILES = """\
src/secrets.py secret_manager.go app/passwords/index.tsx docs/kubeconfig.md docs/credentials.rst pkg/kubeconfig.go
charts/x/templates/secret.yaml charts/x/templates/db/secrets.yaml charts/x/templates/secrets.tpl credentials.example.json
.env.example .env.sample .env.template id_rsa.pub public.key src/keystore.ts KeyStore.java locales/en/secrets.json
i18n/password.json design-tokens.json token.go tokens.css env.d.ts environment.prod.ts variables.tf config.json
external-secret.yaml externalsecrets.yaml sealed-secrets.yaml secret_test.yaml secretstore.yaml serviceaccount.yaml hosts.yml
plugins/filter/password_hash.yml tasks/password_no_log.yml pod-with-secret.yaml ci/secret-mounts-values.yaml a/.snapshots/credentials.json
private_network.json secret-values-schema.json
""".split()


def test_file_of_secrets_is_recognized_by_its_name() -> None:
    assert [path for path in SECRET_FILES if not secret_kind(path)] == []
    assert [path for path in OTHER_FILES if secret_kind(path)] == []


LINES = st.one_of(
    st.sampled_from(
        [
            *TRAPS,
            *(text.replace("§", secret) for _, text, secret in CASES),
            *(generated(t.split("|")[1]) for t in TOKENS),
        ]
    ),
    st.text(alphabet="aZ09_-.:=\"'` \t{}$<>()[]⟦⟧@/\n", max_size=40),
)


@given(
    st.lists(LINES, max_size=8), st.sampled_from(["", "a.py", "a.yml", "a.properties", "a.md", ".env", "tests/a.js"])
)
def test_redaction_keeps_the_number_of_lines_and_is_idempotent(lines: list[str], path: str) -> None:
    text = "\n".join(lines)
    shown, found = redact(text, path, is_file=True)
    assert shown.count("\n") == text.count("\n")
    assert bool(found) == (shown != text)
    assert redact(shown, path, is_file=True) == (shown, [])
